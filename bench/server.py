"""The server under test, and the scripted DNS server that it asks."""

import http.client
import os
import signal
import socket
import subprocess
import time


class Failed(Exception):
    """A benchmark could not be made."""


def until(what, condition, limit=60.0):
    """Waits until condition() is true, and returns what it returned."""
    end = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > end:
            raise Failed(f"waited {limit:g} s in vain for {what}")
        time.sleep(0.01)
    return found


class Dns:
    """`testdns serve`; it ends with its standard input."""

    def __init__(self, program, folder, zone=()):
        self.control = f"{folder}/dns"
        zone_file = f"{folder}/zone"
        with open(zone_file, "w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in zone)
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--control", self.control, "--zone", zone_file, "--until-eof"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        said = self.process.stdout.readline()
        if not said.startswith("listening "):
            self.stop()
            raise Failed(f"testdns did not start; it said: {said!r}")
        self.address = said.split()[1]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Server:
    """One server in debug mode: it ends with its standard input."""

    def __init__(self, env, folder, vcl):
        self.adm = env["ENGINE_ADM"]
        self.work = f"{folder}/server"
        self.source = f"{folder}/bench.vcl"
        self.output = f"{folder}/server.log"
        with open(self.source, "w", encoding="ascii") as file:
            file.write(vcl)
        command = [env["ENGINE_SERVER"]]
        if os.geteuid() == 0:
            # Else it would look for users of its own, which only a package makes.
            command += ["-j", "none"]
        command += ["-d", "-n", self.work, "-a", "127.0.0.1:0", "-f", self.source]
        parameters = {
            "vmod_path": f"{os.path.dirname(env['VMOD'])}:{env['ENGINE_VMODDIR']}",
            # As few threads as possible: each of them is looked at for its time.
            "thread_pools": 1,
            "thread_pool_min": 5,
            # Filled at once, so that the log does not count as memory that grows.
            "vsl_space": "1M",
            "workspace_client": "1M",
            "workspace_backend": "1M",
        }
        for name, value in parameters.items():
            command += ["-p", f"{name}={value}"]
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            # The compiler has much to do.
            until("the server's command line", lambda: self.try_cli("ping")[0] == 0, 300.0)
            self.cli("start")
            self.port = int(self.cli("debug.listen_address").split()[2])
            self.child = self.find_child()
        except Exception:
            self.stop()
            raise

    def try_cli(self, *words):
        if self.process.poll() is not None:
            with open(self.output, encoding="utf-8", errors="replace") as output:
                raise Failed(f"the server has ended: {output.read()[-4000:]}")
        command = [self.adm, "-n", self.work, "-t", "60", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        return done.returncode, done.stdout + done.stderr

    def cli(self, *words):
        status, out = self.try_cli(*words)
        if status != 0:
            raise Failed(f"{' '.join(words)}: {out.strip()}")
        return out

    def find_child(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def connect(self):
        return Client(self.port)

    def threads(self):
        """The names of the child's threads, by id."""
        names = {}
        for thread in os.listdir(f"/proc/{self.child}/task"):
            try:
                with open(f"/proc/{self.child}/task/{thread}/comm", encoding="ascii") as comm:
                    names[int(thread)] = comm.read().strip()
            except OSError:
                # It has just ended.
                continue
        return names

    def cpu(self):
        """Nanoseconds of processor time of each of the child's threads.

        Time that others have the processor does not count, so that a busy machine disturbs little.
        """
        times = {}
        for thread in os.listdir(f"/proc/{self.child}/task"):
            try:
                with open(f"/proc/{self.child}/task/{thread}/schedstat", encoding="ascii") as stat:
                    times[int(thread)] = int(stat.read().split()[0])
            except OSError:
                continue
        return times

    def rss(self):
        """The child's resident memory in bytes, shared memory included."""
        with open(f"/proc/{self.child}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Client:
    """A connection that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, url, host="bench"):
        self.connection.request("GET", url, headers={"Host": host})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise Failed(f"{url}: {answer.status} {answer.reason}")
        return answer
