"""An application for tests of the edge: answers at once, and can hold an answer open."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SmallApp:
    """GET /held begins an answer of ten bytes and ends it when release() was called; all else is "hello"."""

    def __init__(self):
        self._released = threading.Event()
        released = self._released

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                is_held = self.path == "/held"
                self.send_response(200)
                self.send_header("Content-Length", "10" if is_held else "5")
                self.end_headers()
                self.wfile.write(b"hello")
                if is_held:
                    released.wait(60)
                    self.wfile.write(b"again")

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

            def handle_error(self, *_):
                pass  # an edge that closes a connection is no error

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def release(self) -> None:
        self._released.set()

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
