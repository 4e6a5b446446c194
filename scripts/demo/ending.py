"""The end that a signal asks for."""

import contextlib
import signal

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class Stopped(Exception):
    """A signal, whose number is the argument, asks for the end."""


class Ending:
    """Turns the first signal into Stopped. Later ones are ignored: nothing may interrupt the clean-up."""

    def __init__(self):
        self.number = None
        self.is_held = False
        for each in SIGNALS:
            signal.signal(each, self.on_signal)

    def on_signal(self, number, _frame):
        self.begin()
        self.number = number
        if not self.is_held:
            raise Stopped(number)

    def begin(self):
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)

    @contextlib.contextmanager
    def held(self):
        """Puts a signal off: what is started in here is also noted for the clean-up."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
        if self.number is not None:
            raise Stopped(self.number)
