"""The server with the module, its command line and its log."""

import contextlib
import json
import os
import signal
import subprocess
import threading

import wait
from report import Failed

# The module's lines, and a command that tells that the log is being read.
MODULE = 'VCL_Log ~ "^vmod-dynamic" or Error ~ "^vmod-dynamic"'
QUERY = f'{MODULE} or CLI ~ "Rd backend.list"'


class Engine:
    """A server in debug mode: it ends when its standard input does, so it cannot outlive the demo."""

    def __init__(self, env, folder, vcl):
        self.adm = env["ENGINE_ADM"]
        self.log_program = os.path.join(os.path.dirname(self.adm), env["ENGINE"] + "log")
        self.work = f"{folder}/{env['ENGINE']}"
        self.output = f"{folder}/server.log"
        path = f"{os.path.dirname(env['VMOD'])}:{env['ENGINE_VMODDIR']}"
        self.source = f"{folder}/demo.vcl"
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(vcl)
        command = [env["ENGINE_SERVER"]]
        if os.geteuid() == 0:
            # Else it would look for users of its own, which only a package makes.
            command += ["-j", "none"]
        command += ["-d", "-n", self.work, "-a", "127.0.0.1:0", "-f", self.source, "-p", f"vmod_path={path}"]
        # Else an idle thread keeps its VCL for a minute, and the server waits for it to end.
        command += ["-p", "debug=+vclrel"]
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def start(self):
        """Waits for the manager, starts the child, and learns the port."""
        wait.until("the server's command line", lambda: self.try_cli("ping")[0] == 0, 20, self.alive)
        self.cli("start")
        # name, address, port
        self.port = int(self.cli("debug.listen_address").split()[2])

    def alive(self):
        if self.process.poll() is not None:
            raise Failed(f"the server has ended, with status {self.process.returncode}")

    def try_cli(self, *words):
        command = [self.adm, "-n", self.work, "-t", "10", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)
        return done.returncode, done.stdout, done.stderr

    def cli(self, *words):
        status, out, err = self.try_cli(*words)
        if status != 0:
            self.alive()
            raise Failed(f"{' '.join(words)}: {out}{err}".strip())
        return out

    def backends(self, *options):
        """`backend.list -j`, by name."""
        text = self.cli("backend.list", "-j", *options)
        try:
            return json.loads(text)[3]
        except (ValueError, LookupError, TypeError) as why:
            raise Failed(f"backend.list -j {' '.join(options)} is not what it should be ({why}): {text}") from None

    def health(self, name):
        """(healthy, all, preferred and healthy) of a name; None while it is not listed."""
        listed = self.backends().get(name)
        if listed is None:
            return None
        healthy, total, _, rank = listed["probe_message"]
        return healthy, total, rank["preferred"]

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            processes = self.children()
            # The manager first: it would start another child.
            self.process.kill()
            self.process.wait()
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def children(self):
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
                return [int(child) for child in children.read().split()]
        except OSError:
            return []


class Log:
    """The module's lines of the server's log, from now on."""

    def __init__(self, engine):
        self.lines = []
        self.attached = False
        self.changed = threading.Condition()
        command = [engine.log_program, "-n", engine.work, "-t", "10", "-u", "-g", "raw"]
        self.process = subprocess.Popen(
            [*command, "-i", "VCL_Log,Error,CLI", "-q", QUERY],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def attach(self, engine):
        """Waits until the log is being read."""

        def attached():
            # Logs a line.
            engine.backends()
            return self.attached

        wait.until("the first line of the log", attached, alive=self.alive)

    def alive(self):
        if self.process.poll() is not None:
            raise Failed(f"the log program has ended, with status {self.process.returncode}: {self.lines}")

    def read(self):
        for line in self.process.stdout:
            # transaction, tag, side, text
            words = line.split(None, 3)
            with self.changed:
                if len(words) == 4 and words[1] == "CLI":
                    self.attached = True
                    continue
                self.lines.append(words[3].rstrip() if len(words) == 4 else line.rstrip())
                self.changed.notify_all()

    def mark(self):
        with self.changed:
            return len(self.lines)

    def wait(self, since, *ends):
        """For each of `ends`, waits for a line that ends with it; returns these lines in the log's order."""

        def found():
            new = self.lines[since:]
            hits = [next((i for i, line in enumerate(new) if line.endswith(end)), None) for end in ends]
            return None if None in hits else [new[i] for i in sorted(set(hits))]

        with self.changed:
            if not self.changed.wait_for(found, wait.LIMIT):
                raise Failed(f"waited {wait.LIMIT:g} s in vain for log lines that end with: {'; '.join(ends)}")
            return found()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
