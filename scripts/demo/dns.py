"""The scripted DNS server of this repository."""

import socket
import subprocess

from report import Failed


class Dns:
    """`testdns serve`; it ends with its standard input, so it cannot outlive the demo."""

    def __init__(self, program, folder):
        self.program = program
        self.control = f"{folder}/dns"
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--control", self.control, "--until-eof"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        said = self.process.stdout.readline()
        if not said.startswith("listening "):
            self.stop()
            raise Failed(f"testdns did not start; it said: {said!r}")
        self.address = said.split()[1]

    def command(self, line):
        """Gives one command and returns what it prints."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(10)
            control.connect(self.control)
            control.sendall(line.encode() + b"\n")
            reply = control.makefile(encoding="utf-8")
            status, lines = reply.readline().split()
            text = "".join(reply.readline() for _ in range(int(lines)))
        if status != "ok":
            raise Failed(f"testdns: {line}: {text}")
        return text.rstrip("\n")

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
