"""What the demo shows, step by step."""

import json
import time

import scene
import traffic
import wait
from scene import DUAL, FAR, NAME, NEAR, V6

# What the load has to see before a step believes it.
ENOUGH = 150


class Steps:
    """The steps, on what __main__ has started."""

    def __init__(self, report, engine, log, dns, origins):
        self.report = report
        self.engine = engine
        self.log = log
        self.dns = dns
        self.origins = origins
        self.port = next(iter(origins.values())).port
        self.name = f"boot.d({NAME}:{self.port})"
        self.load = None

    def run(self):
        self.opens()
        self.prefers()
        self.load = traffic.Load(self.engine.port, NAME)
        try:
            self.fails_over()
            self.fails_back()
            self.prefers_ipv6()
            self.follows_dns()
            self.outlives_dns()
            self.lists()
        finally:
            self.load.stop()
        answered, failed = self.load.total()
        self.report.line()
        self.report.check(
            f"not one request of the load failed, of {answered} from step 2 to here",
            failed == 0,
            "; ".join(self.failures()),
        )

    # What the steps are made of.

    def networks(self, *addresses):
        return {
            "near": [a for a in addresses if a in NEAR],
            "far": [a for a in addresses if a in FAR],
        }

    def place(self, address):
        host = f"[{address}]" if ":" in address else address
        return f"{host}:{self.port}"

    def switch(self, word, *addresses):
        for address in addresses:
            self.origins[address].well = word == "well"

    def await_health(self, name, expected):
        """Waits until (healthy, all, preferred and healthy) of a name is as expected; returns the seconds."""
        start = time.monotonic()
        seen = None

        def reached():
            nonlocal seen
            seen = self.engine.health(name)
            return seen == expected

        def what():
            return f"(healthy, all, preferred) = {expected} of {name}, which came to {seen}"

        wait.until(what, reached, alive=self.engine.alive)
        return time.monotonic() - start

    def check_served(self, claim, counts, addresses):
        """Those addresses, and only they, served, and each of them its part."""
        fair = counts.total() / len(addresses)
        holds = set(counts) == set(addresses) and all(0.7 * fair <= counts[a] <= 1.3 * fair for a in addresses)
        seen = ", ".join(f"{address}: {count}" for address, count in sorted(counts.items()))
        self.report.check(claim, holds, "; ".join([seen, *self.failures()]))

    def failures(self):
        return self.load.failures[:3] if self.load else []

    def check_load(self):
        answered, failed = self.load.total()
        self.report.check(f"no request failed ({answered} so far)", failed == 0, "; ".join(self.failures()))

    # The steps.

    def opens(self):
        self.report.line(f"   {NAME} has four addresses, with a backend on each. The main lines of the VCL:")
        self.report.quote(scene.main_lines(self.port))

    def prefers(self):
        self.report.step("Two networks behind one name: the preferred one takes all traffic")
        # The name's first use.
        traffic.ask(self.engine.port, NAME, 1)
        self.await_health(self.name, (4, 4, 2))
        counts = traffic.ask(self.engine.port, NAME, 20)
        self.report.served(f"20 requests for {NAME}:", counts, self.networks(*NEAR[:2], *FAR))
        self.check_served("near served all of them, evenly; far stands by", counts, NEAR[:2])

    def fails_over(self):
        self.report.step("The preferred network falls sick, under load: the other one serves")
        self.report.did(f"{NEAR[0]} and {NEAR[1]} answer /health with 503")
        self.switch("sick", *NEAR[:2])
        took = self.await_health(self.name, (2, 4, 0))
        counts = self.load.served_from_now(ENOUGH)
        caption = f"the probes knew after {took:.1f} s; {counts.total()} requests since:"
        self.report.served(caption, counts, self.networks(*NEAR[:2], *FAR))
        self.check_served("far served all of them, evenly", counts, FAR)
        self.check_load()

    def fails_back(self):
        self.report.step("The preferred network comes back: it takes all traffic again")
        self.report.did(f"{NEAR[0]} and {NEAR[1]} answer /health with 200")
        self.switch("well", *NEAR[:2])
        took = self.await_health(self.name, (4, 4, 2))
        counts = self.load.served_from_now(ENOUGH)
        caption = f"the probes knew after {took:.1f} s; {counts.total()} requests since:"
        self.report.served(caption, counts, self.networks(*NEAR[:2], *FAR))
        self.check_served("near served all of them, evenly", counts, NEAR[:2])
        self.check_load()

    def prefers_ipv6(self):
        self.report.step('IPv6 first: prefer = ipv6, with acl ipv6 { "::"/0; }')
        if V6 not in self.origins:
            self.report.lacks(f"this machine has no IPv6 address {V6}")
            return
        name = f"boot.v6first({DUAL}:{self.port})"
        # The name's first use.
        traffic.ask(self.engine.port, DUAL, 1)
        self.report.line(f"   three times 10 requests for {DUAL}:")
        for word, caption, health, expected in [
            ("well", "both are healthy", (2, 2, 1), V6),
            ("sick", f"{V6} is sick", (1, 2, 0), NEAR[0]),
            ("well", f"{V6} is back", (2, 2, 1), V6),
        ]:
            self.switch(word, V6)
            self.await_health(name, health)
            counts = traffic.ask(self.engine.port, DUAL, 10)
            served = "   ".join(f"{address:<9} {counts[address]:>3}" for address in (V6, NEAR[0]))
            self.report.line(f"     {caption:<18} {served}")
            self.check_served(f"{expected} served all of them", counts, [expected])

    def follows_dns(self):
        self.report.step("DNS changes while the server runs: an address comes, another one goes")
        mark = self.log.mark()
        self.change(f"add {NAME} A {NEAR[2]}", f"remove {NAME} A {NEAR[0]}")
        gone, new = self.place(NEAR[0]), self.place(NEAR[2])
        drop = f"absent {gone}: no longer in the answer, kept for 1 update"
        seen = self.log.wait(mark, f"add {new} score 1", drop)
        # The new backend's first probe.
        self.await_health(self.name, (4, 4, 2))
        counts = self.load.served_from_now(ENOUGH)
        seen += self.log.wait(mark, f" d {NAME}:{self.port} delete {gone}")
        self.report.quote(seen)
        self.report.served(f"{counts.total()} requests since:", counts, self.networks(*NEAR, *FAR))
        self.check_served(f"{NEAR[2]} serves, {NEAR[0]} does not", counts, NEAR[1:])
        self.check_load()

    def outlives_dns(self):
        self.report.step("DNS dies: the last good addresses serve on; it comes back: changes are seen")
        mark = self.log.mark()
        self.change("down")
        failed = f" d {NAME}:{self.port} lookup A failed: TIMEOUT from {self.dns.address}"
        self.report.quote(self.log.wait(mark, failed))
        counts = self.load.served_from_now(ENOUGH)
        self.report.served(f"{counts.total()} requests since:", counts, self.networks(*NEAR, *FAR))
        self.check_served("the same backends serve", counts, NEAR[1:])
        mark = self.log.mark()
        self.change(f"add {NAME} A {NEAR[0]}", "up")
        self.report.quote(self.log.wait(mark, f"add {self.place(NEAR[0])} score 1"))
        self.await_health(self.name, (5, 5, 3))
        counts = self.load.served_from_now(ENOUGH)
        self.report.served(f"{counts.total()} requests since:", counts, self.networks(*NEAR, *FAR))
        self.check_served(f"{NEAR[0]} serves again", counts, NEAR)
        self.check_load()

    def change(self, *commands):
        for command in commands:
            self.report.did(f"testdns: {command}")
            self.dns.command(command)

    def lists(self):
        self.report.step("What the operator sees")
        self.report.line("   backend.list d(*)")
        rows = self.engine.cli("backend.list", "d(*)").rstrip().splitlines()
        self.report.quote(rows)
        row = next((row.split() for row in rows if row.startswith(self.name)), [])
        self.report.line("   backend.list -j -p (a part of it)")
        listed = self.engine.backends("-p")[self.name]
        details = listed["probe_details"]
        leaf = f"d({self.place(NEAR[0])})"
        self.report.quote(
            [
                f'"{self.name}": {{',
                *(f'  "{key}": {json.dumps(listed[key])},' for key in ("type", "admin_health", "probe_message")),
                '  "probe_details": {',
                *(f'    "{key}": {json.dumps(details[key])},' for key in ("ttl", "ttl_from", "keep", "prefer")),
                '    "backends": {',
                *extract(leaf, details["backends"][leaf], 6),
                "      ...",
            ]
        )
        message = listed["probe_message"]
        self.report.check(
            "5 of 5 backends are healthy in both; 3 of these are preferred",
            row[2:4] == ["5/5", "healthy"] and message == [5, 5, "healthy", {"preferred": 3}],
            f"{row}, {message}",
        )
        preferred = sorted(b["address"] for b in details["backends"].values() if b["preferred"])
        self.report.check("the preferred ones are those of the near network", preferred == NEAR, preferred)


def extract(name, members, indent):
    """A leaf of the list, two members a line."""
    blank = " " * indent
    words = [f'"{key}": {json.dumps(value)}' for key, value in members.items()]
    lines = [", ".join(words[i : i + 4]) for i in range(0, len(words), 4)]
    return [f'{blank}"{name}": {{', *(f"{blank}  {line}{',' if line != lines[-1] else ' },'}" for line in lines)]
