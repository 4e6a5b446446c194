"""A client for the session and bucket tests, and the keys as another program makes them.

The keys follow the manual alone, so that a test shows that others can read and write them.
"""

import hashlib
import http.client

MASK = (1 << 64) - 1


class Answer:
    """One response: its status, body and headers."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.msg
        self.body = response.read()

    def __getitem__(self, name):
        return self.headers.get(name)

    def all(self, name):
        return self.headers.get_all(name) or []

    def key(self, name="sid"):
        """The key that the response carries, in a cookie or header; None without."""
        lines = self.all("set-cookie")
        keys = [line.split(";")[0].split("=", 1)[1] for line in lines if line.startswith(name + "=")]
        keys += self.all(name)
        assert len(keys) < 2, keys
        return keys[0] if keys else None


class Client:
    """A connection that asks one request after the other. Headers are pairs; values may be bytes."""

    def __init__(self, address, port):
        self.connection = http.client.HTTPConnection(address, int(port), timeout=30)

    def get(self, *headers, url="/", host="a.test"):
        c = self.connection
        c.putrequest("GET", url, skip_host=True, skip_accept_encoding=True)
        c.putheader("Host", host)
        for name, value in headers:
            c.putheader(name, value)
        c.endheaders()
        return Answer(c.getresponse())


def arr(identity):
    """The key of ARR_COOKIE."""
    return hashlib.sha256(identity.lower().encode("utf-16-le")).hexdigest().upper()


def hashed(identity):
    """The key of HASH_COOKIE."""
    return f"{xxh64(identity.upper().encode('utf-16-le')):016x}"


def xxh64(text):
    """XXH64 with seed 0, after its specification."""
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )

    def left(x, n):
        return ((x << n) | (x >> (64 - n))) & MASK

    def step(acc, lane):
        return left((acc + lane * p2) & MASK, 31) * p1 & MASK

    def word(at, n):
        return int.from_bytes(text[at : at + n], "little")

    at = 0
    if len(text) >= 32:
        accs = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        while at + 32 <= len(text):
            accs = [step(acc, word(at + 8 * i, 8)) for i, acc in enumerate(accs)]
            at += 32
        h = sum(left(acc, n) for acc, n in zip(accs, (1, 7, 12, 18))) & MASK
        for acc in accs:
            h = ((h ^ step(0, acc)) * p1 + p4) & MASK
    else:
        h = p5
    h = (h + len(text)) & MASK
    while at + 8 <= len(text):
        h = (left(h ^ step(0, word(at, 8)), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(text):
        h = (left(h ^ (word(at, 4) * p1 & MASK), 23) * p2 + p3) & MASK
        at += 4
    for byte in text[at:]:
        h = left(h ^ (byte * p5 & MASK), 11) * p1 & MASK
    h = (h ^ (h >> 33)) * p2 & MASK
    h = (h ^ (h >> 29)) * p3 & MASK
    return h ^ (h >> 32)


def is_followed(answer):
    return (answer.status, answer["status"], answer.key()) == (200, "OK", None)


def is_recovered(answer):
    return (answer.status, answer["status"], bool(answer.key())) == (200, "RECOVERED", True)


def is_refused(answer, status):
    return (answer.status, answer["status"], answer.key()) == (503, status, None)
