"""Benchmarks in the real server: choices beside those of the engine's own directors, and many names.

`make bench` builds what it needs and runs it. It takes some minutes, asserts nothing, and ends with a table. A
number is processor time, the median of many rounds in which all cases take turns, so that a machine that others use
disturbs little; ratios are more to be trusted than times.

    python3 bench [ROUNDS]     with the exports of `make env`
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

# Before the files beside this one are imported: nothing is to be left among the sources.
sys.dont_write_bytecode = True

import measure
import program
from report import Table
from server import Dns, Failed, Server

ROUNDS = 25
# Rounds of the less important.
FEW = 8
NAMES = 10000
REFRESH = 5
# How long the refreshes are watched, in seconds.
WATCHED = 20


def core(table):
    """The benchmarks of the core, of which some numbers have a target."""
    print("== core", flush=True)
    done = subprocess.run(
        ["cargo", "bench", "--package", "dynamic-core"], stdout=subprocess.PIPE, stderr=sys.stderr, text=True, check=True
    )
    print(done.stdout, flush=True)

    def cell(row, column):
        found = re.search(rf"^{row} +([0-9. ]+)$", done.stdout, re.MULTILINE)
        if not found:
            raise Failed(f"cargo bench printed no row {row!r}")
        return float(found[1].split()[column])

    # Columns: 1, 3, 10, 100, 1000 endpoints. 100 have 65,537 slots.
    milliseconds = cell("table, weights 1", 3) / 1000
    table.row("Maglev table of 65,537 slots", f"{milliseconds:.2f} ms", "< 2 ms", milliseconds < 2)
    for column, n in ((2, 10), (3, 100), (4, 1000)):
        pick = cell("key", column)
        table.row(f"core: pick by key of {n}", f"{pick:.1f} ns", "< 20 ns", pick < 20)


def choices(env, folder, rounds, table):
    """What a choice costs, beside the directors of the engine."""
    print("== choices in the server", flush=True)
    dns = Dns(env["TESTDNS"], folder, program.zone())
    server = Server(env, folder, "".join(program.choices(dns.address)))
    try:
        server.cli("param.set", "vsl_mask", "none")
        main = [f"{case}_{n}" for n in program.SIZES for case in ("ours", "stock", "key", "shard", "shardint")]
        times = measure.Samples(server, main, rounds)
        table.row("name, 10 addresses", f"{times.median('ours_10'):.0f} ns")
        table.row("round_robin, 10 backends", f"{times.median('stock_10'):.0f} ns")
        for n in program.SIZES:
            ratio = times.ratio(f"ours_{n}", f"stock_{n}")
            table.row(f"name of {n} : round_robin of {n}", f"{ratio:.2f}", "<= 1.0", ratio <= 1.0)
        table.row("key, 10 addresses", f"{times.median('key_10'):.0f} ns")
        table.row("shard, 10 backends, key hashed", f"{times.median('shard_10'):.0f} ns")
        table.row("shard, 10 backends, key a number", f"{times.median('shardint_10'):.0f} ns")
        for n in program.SIZES:
            ratio = times.ratio(f"key_{n}", f"shard_{n}")
            table.row(f"key of {n} : shard of {n}, key hashed", f"{ratio:.2f}", "<= 0.5", ratio <= 0.5)
            ratio = times.ratio(f"key_{n}", f"shardint_{n}")
            table.row(f"key of {n} : shard of {n}, key a number", f"{ratio:.2f}", "<= 0.5", ratio <= 0.5)
        for n in program.SIZES[1:]:
            ratio = times.ratio(f"ours_{n}", "ours_1")
            table.row(f"name of {n} : name of 1", f"{ratio:.2f}", "0.75 to 1.25", 0.75 <= ratio <= 1.25)
        for n in program.SIZES[1:]:
            ratio = times.ratio(f"key_{n}", "key_1")
            table.row(f"key of {n} : key of 1", f"{ratio:.2f}")

        others = [f"{case}_{n}" for n in (10, 100) for case in ("random", "least", "bounded", "spill")] + ["lookup"]
        times = measure.Samples(server, others, FEW)
        table.row("name without .resolve()", f"{times.median('lookup'):.0f} ns")
        for case, what in (("random", "RANDOM"), ("least", "LEAST"), ("bounded", "key, hash_balance"),
                           ("spill", "overprovisioning")):
            numbers = ", ".join(f"{times.median(f'{case}_{n}'):.0f} ns" for n in (10, 100))
            table.row(f"{what}, 10 and 100 addresses, idle", numbers)

        for case, what in (("ours_10", "name"), ("key_10", "key")):
            by_cpu, by_clock = measure.scaling(server, case, rounds)
            table.row(f"{what}, two threads : one", f"{by_cpu:.2f} ({by_clock:.2f} by the clock)", ">= 1.7",
                      by_cpu >= 1.7)
        by_cpu, by_clock = measure.scaling(server, "stock_10", FEW)
        table.row("round_robin, two threads : one", f"{by_cpu:.2f} ({by_clock:.2f} by the clock)")

        few = {}
        client = server.connect()
        for known in program.MANY:
            for n in range(known):
                client.get("/host", f"n{n}.many.test")
            few[known] = measure.Samples(server, ["ours_10", "many"] if known >= 10 else ["ours_10"], rounds)
        for known in program.MANY[1:]:
            ratio = few[known].median("ours_10") / few[1].median("ours_10")
            table.row(f"one of {known} names : of 1", f"{ratio:.2f}", "0.75 to 1.25", 0.75 <= ratio <= 1.25)
        table.row(f"ten names in turn, of {known}", f"{few[known].median('many'):.0f} ns")
    finally:
        server.stop()
        dns.stop()


def names(env, folder, table):
    """What very many names cost when nobody uses them: memory, threads, and time for refreshes."""
    print(f"== {NAMES} names", flush=True)
    dns = Dns(env["TESTDNS"], folder, program.zone())
    server = Server(env, folder, "".join(program.names(dns.address, f"{REFRESH}s")))
    try:
        client = server.connect()
        for _ in range(2000):
            # Whatever a server needs at first, and the log filled.
            client.get("/")
        client.get("/host", "n0.many.test")
        empty, threads = server.rss(), server.threads()
        for n in range(NAMES):
            client.get("/host", f"n{n}.many.test")
        # Two refreshes of all.
        time.sleep(2 * REFRESH + 1)
        before, start = server.cpu(), time.monotonic()
        memory = []
        while time.monotonic() < start + WATCHED:
            time.sleep(0.5)
            memory.append(server.rss())
        after, passed = server.cpu(), time.monotonic() - start
        used = {thread: after[thread] - before.get(thread, 0) for thread in after}
        more = statistics.median(memory) - empty
        table.row(f"{NAMES} names, {NAMES} addresses: memory", f"{more / 2**20:.1f} MiB", "< 64 MiB", more < 2**26)
        resolver = [thread for thread, name in server.threads().items() if "dynamic" in name]
        extra = len(server.threads()) - len(threads)
        table.row(f"{NAMES} names: threads of the module", f"{len(resolver)} ({extra:+d} in all)", "1", len(resolver) == 1)
        share = sum(used.values()) / passed / 1e9
        alone = sum(used.get(thread, 0) for thread in resolver) / passed / 1e9
        table.row(f"{NAMES} names, all asked again every {REFRESH} s", f"{share:.3f} cores ({alone:.3f} the resolver)",
                  "< 0.5 cores", share < 0.5)
        with open(server.output, encoding="utf-8", errors="replace") as output:
            if "Panic" in output.read():
                raise Failed("the child has panicked")
        # That it was done at all.
        counters = subprocess.run(
            [env["ENGINE_ADM"].replace("adm", "stat"), "-n", server.work, "-1", "-f", "DYNAMIC.*.lookups"],
            capture_output=True, text=True, check=True,
        )
        lookups = sum(int(line.split()[1]) for line in counters.stdout.splitlines())
        rounds = lookups / NAMES
        table.row(f"{NAMES} names: times that each was asked", f"{rounds:.1f}")
    finally:
        server.stop()
        dns.stop()


def main():
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rounds", type=int, nargs="?", default=ROUNDS, help="rounds of each case (%(default)s)")
    rounds = parser.parse_args().rounds
    env = dict(os.environ)
    missing = [name for name in ("ENGINE_SERVER", "ENGINE_ADM", "ENGINE_VMODDIR", "VMOD") if name not in env]
    if missing:
        raise Failed(f"not set: {', '.join(missing)}: use `make bench`")
    env["TESTDNS"] = os.path.join(os.path.dirname(env["VMOD"]), "testdns")
    table = Table()
    core(table)
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        os.mkdir(f"{folder}/choices")
        os.mkdir(f"{folder}/names")
        choices(env, f"{folder}/choices", rounds, table)
        names(env, f"{folder}/names", table)
    print()
    table.print()


if __name__ == "__main__":
    try:
        main()
    except (Failed, subprocess.CalledProcessError) as why:
        sys.exit(f"error: {why}")
