"""Measures cases side by side: all of them again and again in turn, and the median of each."""

import statistics
import threading
import time

import program


def clock(server, client, url):
    """Processor time and time of one request, in nanoseconds per call."""
    before, start = server.cpu(), time.perf_counter_ns()
    client.get(f"/{url}")
    passed, after = time.perf_counter_ns() - start, server.cpu()
    used = sum(after.values()) - sum(before.get(thread, 0) for thread in after)
    return used / program.CALLS, passed / program.CALLS


class Samples:
    """Nanoseconds per call of each case, one for each round."""

    def __init__(self, server, cases, rounds):
        client = server.connect()
        names = [program.EMPTY, *cases]
        for name in names:
            # The first time a name is looked up, and tables are built.
            client.get(f"/{name}")
        self.cpu = {name: [] for name in cases}
        for _ in range(rounds):
            times = {name: clock(server, client, name)[0] for name in names}
            for name in cases:
                self.cpu[name].append(times[name] - times[program.EMPTY])

    def median(self, name):
        return statistics.median(self.cpu[name])

    def ratio(self, name, other):
        """How much of the other's time a case takes, round by round."""
        return statistics.median(a / b for a, b in zip(self.cpu[name], self.cpu[other], strict=True))


def scaling(server, case, rounds):
    """How many times the work of one client thread two do, by processor time and by the clock."""
    clients = [server.connect(), server.connect()]
    for client in clients:
        client.get(f"/{case}")
    by_cpu, by_clock = [], []
    for _ in range(rounds):
        empty_cpu, empty_clock = clock(server, clients[0], program.EMPTY)
        one_cpu, one_clock = clock(server, clients[0], case)
        before, start = server.cpu(), time.perf_counter_ns()
        threads = [threading.Thread(target=client.get, args=(f"/{case}",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        passed, after = time.perf_counter_ns() - start, server.cpu()
        used = sum(after.values()) - sum(before.get(thread, 0) for thread in after)
        by_cpu.append(2 * (one_cpu - empty_cpu) / (used / 2 / program.CALLS - empty_cpu))
        by_clock.append(2 * (one_clock - empty_clock) / (passed / program.CALLS - empty_clock))
    return statistics.median(by_cpu), statistics.median(by_clock)
