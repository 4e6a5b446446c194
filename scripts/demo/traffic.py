"""Requests to the server, and who served them."""

import collections
import http.client
import threading

import wait
from origin import NAME_HEADER
from report import Failed

# Between two requests of one client: enough load to catch a gap, and little enough for a small machine.
PAUSE = 0.005


class Client:
    """One connection to the server."""

    def __init__(self, port, host):
        self.host = host
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def get(self):
        """Sends one request; returns (backend, None) or (None, why it failed)."""
        try:
            self.connection.request("GET", "/", headers={"Host": self.host})
            response = self.connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as why:
            self.connection.close()
            return None, repr(why)
        served = response.getheader(NAME_HEADER)
        if response.status != 200 or served is None:
            return None, f"status {response.status} {response.reason}"
        return served, None

    def close(self):
        self.connection.close()


def ask(port, host, number):
    """Sends a number of requests, one after the other; returns how many each backend served."""
    client = Client(port, host)
    counts = collections.Counter()
    for _ in range(number):
        served, why = client.get()
        if why:
            raise Failed(f"a request for {host} failed: {why}")
        counts[served] += 1
    client.close()
    return counts


class Load:
    """Clients that send requests without end. Requests are counted by the phase in which they began."""

    def __init__(self, port, host, clients=3):
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.phase = 0
        self.counts = collections.defaultdict(collections.Counter)
        self.failures = []
        self.threads = [
            threading.Thread(target=self.send, args=(Client(port, host),), daemon=True) for _ in range(clients)
        ]
        for thread in self.threads:
            thread.start()

    def send(self, client):
        while not self.ending.wait(PAUSE):
            with self.lock:
                phase = self.phase
            served, why = client.get()
            with self.lock:
                if why:
                    self.failures.append(why)
                else:
                    self.counts[phase][served] += 1
        client.close()

    def served_from_now(self, number=100):
        """Waits for that many requests that begin from now on to be answered; returns who served them."""
        with self.lock:
            self.phase += 1
            phase = self.phase

        def done():
            with self.lock:
                counts = self.counts[phase]
                return counts.copy() if counts.total() + len(self.failures) >= number else None

        return wait.until(f"{number} requests of the load", done)

    def total(self):
        """(answered, failed)"""
        with self.lock:
            return sum(counts.total() for counts in self.counts.values()), len(self.failures)

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()
