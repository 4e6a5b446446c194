"""HTTP backends that answer with their own address, and whose health can be switched."""

import http.server
import socket
import socketserver
import threading

NAME_HEADER = "X-Origin"


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        origin = self.server.origin
        status = 200
        if self.path == "/health":
            status = 200 if origin.well else 503
        elif self.path in ("/sick", "/well"):
            origin.well = self.path == "/well"
        word = "well" if origin.well else "sick"
        body = f"{origin.address} ({word})\n".encode()
        self.send_response(status)
        self.send_header(NAME_HEADER, origin.address)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, port):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Answer)

    def server_bind(self):
        # That of HTTPServer looks the host's name up, which may ask a real name server.
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, *_):
        # The server closes connections as it likes.
        pass


class Origin:
    """A backend on one address; while not `well`, it answers /health with 503."""

    def __init__(self, address, port=0):
        self.address = address
        self.well = True
        self.listener = Listener(address, port)
        self.listener.origin = self
        self.port = self.listener.server_address[1]
        self.thread = threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.listener.shutdown()
        self.listener.server_close()


def start(addresses):
    """Starts backends on all addresses, on one port that is free on each."""
    for _ in range(20):
        started = []
        try:
            port = 0
            for address in addresses:
                started.append(Origin(address, port))
                port = started[0].port
            return {origin.address: origin for origin in started}
        except OSError as why:
            for origin in started:
                origin.stop()
            last = why
    raise OSError(f"no port is free on all of {', '.join(addresses)}: {last}")
