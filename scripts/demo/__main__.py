"""Shows the module at work in a real server, on loopback. Run by `make demo`.

Everything that it says is checked; the status is 0 only if all of it was so. With KEEP set (not empty, not 0)
it leaves all running afterwards, until `stop` is typed, ^C, or SIGTERM.
"""

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import origin  # noqa: E402
import scene  # noqa: E402
import steps  # noqa: E402
from dns import Dns  # noqa: E402
from ending import Ending, Stopped  # noqa: E402
from engine import MODULE, Engine, Log  # noqa: E402
from report import Failed, Report, bold, green, red  # noqa: E402

NEEDED = ["VMOD", "ENGINE", "ENGINE_VERSION", "ENGINE_SERVER", "ENGINE_ADM", "ENGINE_VMODDIR"]
# How much of each log is shown after a failure.
TAIL = 40


def main():
    lacking = [name for name in NEEDED if not os.environ.get(name)]
    if lacking:
        print(f'error: {", ".join(lacking)} not set: use `make demo`, or first: eval "$(make -s env)"', file=sys.stderr)
        return 2
    keep = os.environ.get("KEEP", "") not in ("", "0")
    ending = Ending()
    try:
        with contextlib.ExitStack() as stack:
            try:
                return show(stack, ending, keep)
            finally:
                ending.begin()
    except Stopped as stopped:
        print("\nstopped")
        return 128 + stopped.args[0]


def show(stack, ending, keep):
    """Starts all, leaves the end of it to `stack`, and runs the steps. Returns the exit status."""
    report = Report()
    env = os.environ
    start = time.monotonic()
    # Short, as there will be Unix sockets in it.
    with ending.held():
        folder = tempfile.mkdtemp(prefix="vmod-dynamic-demo-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

    def begin(make):
        with ending.held():
            made = make()
            stack.callback(made.stop)
        return made

    engine = log = None
    try:
        origins = origin.start(scene.addresses())
        port = next(iter(origins.values())).port
        dns = begin(lambda: Dns(os.path.join(os.path.dirname(env["VMOD"]), "testdns"), folder))
        for line in scene.zone():
            dns.command(line)
        engine = begin(lambda: Engine(env, folder, scene.vcl(dns.address, port)))
        engine.start()
        log = begin(lambda: Log(engine))
        log.attach(engine)

        report.line(bold(f"vmod_dynamic in {env['ENGINE'].capitalize()} Cache {env['ENGINE_VERSION']}"))
        steps.Steps(report, engine, log, dns, origins).run()
        if report.missing:
            raise Failed("not shown: " + "; ".join(report.missing))
        took = time.monotonic() - start
        report.line(f"\n{green('demo passed')}: {report.steps} steps, {report.checks} checks, {took:.1f} s")
        status = 0
    except (Failed, OSError, subprocess.SubprocessError) as why:
        explain(engine, log)
        report.line(f"\n{red('demo FAILED')}: {why}")
        status = 1
    if keep and log is not None:
        try:
            play(report, env, engine, dns, origins)
        except Failed as why:
            explain(engine, log)
            report.line(f"\n{red('stopped')}: {why}")
            status = 1
    return status


def explain(engine, log):
    """Shows what the server and the module said before a failure."""
    if log is not None:
        print(f"\nthe module's last log lines ({len(log.lines)} in all):")
        for line in log.lines[-TAIL:]:
            print(f"   {line}")
    if engine is not None and os.path.exists(engine.output):
        print("\nthe server's last words:")
        with open(engine.output, encoding="utf-8", errors="replace") as output:
            for line in output.readlines()[-TAIL:]:
                print(f"   {line.rstrip()}")


def play(report, env, engine, dns, origins):
    """Leaves all running and tells what to try, until there is a request to stop."""
    port = next(iter(origins.values())).port
    first, second = scene.NEAR[:2]
    path = os.path.dirname(engine.adm)
    name = os.path.basename(engine.adm)
    ctl = f"{dns.program} ctl {dns.control}"
    report.line(
        f"""
{bold('It is all still running.')} In another terminal:

  requests, and who answers
    curl http://127.0.0.1:{engine.port}/
    curl -H 'Host: {scene.DUAL}' http://127.0.0.1:{engine.port}/

  the server
    export PATH={path}:$PATH
    {name} -n {engine.work} backend.list
    {name} -n {engine.work} backend.list -p
    {name} -n {engine.work} backend.list -j -p
    {name} -n {engine.work} backend.set_health 'boot.d({first}:*)' sick     # or: auto
    {os.path.basename(engine.log_program)} -n {engine.work} -g raw -q '{MODULE}'
    {env['ENGINE']}stat -n {engine.work} -1 -f 'DYNAMIC.*'

  a backend's health
    curl http://{first}:{port}/sick
    curl http://{first}:{port}/well

  DNS
    {ctl} 'remove {scene.NAME} A {second}'
    {ctl} 'add {scene.NAME} A {second}'
    {ctl} down
    {ctl} up
    {ctl} dump
    {dns.program} --help

  the VCL
    cat {engine.source}

To stop it all: type `stop` here, press ^C, or `kill {os.getpid()}`."""
    )
    typed = ""
    while typed.strip() not in ("stop", "quit", "exit"):
        engine.alive()
        # Looks now and then whether the server still runs.
        if not select.select([sys.stdin], [], [], 1.0)[0]:
            continue
        typed = sys.stdin.readline()
        if not typed:
            # No terminal: a signal will come.
            while True:
                engine.alive()
                time.sleep(1.0)
    report.line("stopped")


if __name__ == "__main__":
    sys.exit(main())
