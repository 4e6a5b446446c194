"""Waits for events, each with its limit."""

import time

from report import Failed

LIMIT = 8.0
POLL = 0.02


def until(what, condition, limit=LIMIT, alive=None):
    """Waits until condition() is true, and returns what it returned.

    `what` is waited for: text, or a function that tells it in the end. `alive`, where given, raises when waiting
    on is in vain.
    """
    end = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if alive is not None:
            alive()
        if time.monotonic() > end:
            raise Failed(f"waited {limit:g} s in vain for {what() if callable(what) else what}")
        time.sleep(POLL)
