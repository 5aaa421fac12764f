"""HTTP/2 with clients and servers that others wrote: curl, nghttp, h2load and gRPC."""

import re
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.child_process import ChildProcess

__all__ = ["prepare", "CommandLineClients", "Grpc"]

UPSTREAM = ("import http.server,sys\n"
            "class H(http.server.BaseHTTPRequestHandler):\n"
            " protocol_version='HTTP/1.1'\n"
            " def answer(self):\n"
            "  n=int(self.headers.get('Content-Length',0)); body=self.rfile.read(n) or sys.argv[2].encode()\n"
            "  self.send_response(200); self.send_header('Content-Length',str(len(body))); self.end_headers(); self.wfile.write(body)\n"
            " do_GET=do_POST=answer\n"
            " def log_message(self,*a): pass\n"
            # As many streams as h2load opens connect at once; Python's own queue has room for five.
            "class S(http.server.ThreadingHTTPServer): request_queue_size=512\n"
            "S(('127.0.0.1',int(sys.argv[1])),H).serve_forever()\n")
HOST = "alpha.dev.localhost"


def command(*arguments, **options) -> str:
    return subprocess.run([*map(str, arguments)], check=True, capture_output=True, text=True, timeout=60, **options).stdout


class CommandLineClients(ProgramWorld):
    def setUp(self):
        super().setUp()
        upstream = ChildProcess([sys.executable, "-c", UPSTREAM, "9001", "alpha's answer"], self.directory / "upstream.log")
        self.addCleanup(upstream.stop)
        self.hedge.run("ca", "init")
        self.hedge.start_edge()
        self.hedge.run("route", "add", HOST, "tcp:127.0.0.1:9001")
        self.certificate = self.directory / "root.pem"
        self.certificate.write_text(self.hedge.run("ca", "export").stdout)
        bounded_wait.until(lambda: self.hedge.get(HOST, "/").status == 200, 15, "the upstream answers")

    def curl(self, *arguments) -> str:
        return command("curl", "-sS", "--cacert", self.certificate, "--resolve", f"{HOST}:8443:127.0.0.1",
                       "--resolve", f"{HOST}:8080:127.0.0.1", "-w", " %{http_version} %{http_code}", *arguments)

    def test_curl_speaks_http2_over_tls_and_in_clear(self):
        self.assertEqual(self.curl("--http2", f"https://{HOST}:8443/"), "alpha's answer 2 200")
        self.assertEqual(self.curl("--http2-prior-knowledge", f"http://{HOST}:8080/"), "alpha's answer 2 200")
        self.assertEqual(self.curl("--http1.1", f"https://{HOST}:8443/"), "alpha's answer 1.1 200")

    def test_curl_uploads_and_downloads_ten_megabytes(self):
        body = self.directory / "body"
        body.write_bytes(bytes(range(256)) * 40960)
        back = self.directory / "back"
        self.assertEqual(self.curl("--http2", "--data-binary", f"@{body}", "-o", back, f"https://{HOST}:8443/"), " 2 200")
        self.assertEqual(back.read_bytes(), body.read_bytes())

    def test_nghttp_sees_no_fault_in_the_frames(self):
        shown = command("nghttp", "-nv", "--no-dep", f"http://127.0.0.1:8080/", "-H", f":authority: {HOST}", "-m", "20")
        self.assertEqual(len(re.findall(r":status: 200", shown)), 20)
        self.assertNotIn("error_code=PROTOCOL_ERROR", shown)

    def test_h2load_gets_an_answer_to_every_request(self):
        report = command("h2load", "-n", "2000", "-c", "4", "-m", "50", "-H", f":authority: {HOST}", "http://127.0.0.1:8080/")
        self.assertRegex(report, r"requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored")
        self.assertRegex(report, r"status codes: 2000 2xx, 0 3xx, 0 4xx, 0 5xx")


def echo(request: bytes, _context) -> bytes:
    return b"echo " + request


def refuse(_request: bytes, context) -> bytes:
    context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")


def count(request: bytes, _context):
    for number in range(int(request)):
        yield str(number).encode()


def total(requests, context) -> bytes:
    context.set_trailing_metadata((("x-seen", "all"),))
    return str(sum(len(request) for request in requests)).encode()


def converse(requests, _context):
    for request in requests:
        yield b"re: " + request


class Grpc(ProgramWorld):
    """Unary, streams in each direction, and failures that are trailers only."""

    def setUp(self):
        super().setUp()
        self.server = grpc.server(ThreadPoolExecutor(8))
        self.cancelled = threading.Event()
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", {
            "Echo": grpc.unary_unary_rpc_method_handler(echo),
            "Refuse": grpc.unary_unary_rpc_method_handler(refuse),
            "Count": grpc.unary_stream_rpc_method_handler(count),
            "Total": grpc.stream_unary_rpc_method_handler(total),
            "Converse": grpc.stream_stream_rpc_method_handler(converse),
            "Wait": grpc.unary_unary_rpc_method_handler(self.wait_for_cancel),
        }),))
        port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.addCleanup(lambda: self.server.stop(None).wait(10))
        self.hedge.run("ca", "init")
        self.hedge.start_edge()
        self.hedge.run("route", "add", HOST, f"tcp:127.0.0.1:{port}", "--protocol", "h2c")
        self.channel = grpc.insecure_channel("127.0.0.1:8080", (("grpc.default_authority", HOST),))
        self.addCleanup(self.channel.close)

    def wait_for_cancel(self, _request, context):
        context.add_callback(self.cancelled.set)
        self.cancelled.wait(20)
        return b""

    def test_a_unary_call_is_answered(self):
        call = self.channel.unary_unary("/test.Echo/Echo")
        self.assertEqual(call(b"hello", timeout=20), b"echo hello")
        large = b"x" * 3_000_000
        self.assertEqual(call(large, timeout=20), b"echo " + large)

    def test_a_unary_call_is_answered_over_tls(self):
        credentials = grpc.ssl_channel_credentials(self.hedge.run("ca", "export").stdout.encode())
        options = (("grpc.ssl_target_name_override", HOST), ("grpc.default_authority", HOST))
        with grpc.secure_channel("127.0.0.1:8443", credentials, options) as channel:
            self.assertEqual(channel.unary_unary("/test.Echo/Echo")(b"hello", timeout=20), b"echo hello")

    def test_E12_a_failure_is_trailers_only_and_arrives_as_what_it_is(self):
        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.unary_unary("/test.Echo/Refuse")(b"", timeout=20)
        self.assertEqual((raised.exception.code(), raised.exception.details()), (grpc.StatusCode.NOT_FOUND, "no such thing"))
        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.unary_unary("/test.Echo/Unknown")(b"", timeout=20)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_streams_flow_in_each_direction(self):
        numbers = self.channel.unary_stream("/test.Echo/Count")(b"500", timeout=20)
        self.assertEqual([int(number) for number in numbers], list(range(500)))
        answer, call = self.channel.stream_unary("/test.Echo/Total").with_call(iter([b"x" * 1000] * 300), timeout=20)
        self.assertEqual(answer, b"300000")
        self.assertIn(("x-seen", "all"), tuple(call.trailing_metadata()))

    def test_a_conversation_goes_to_and_fro(self):
        said = threading.Semaphore(0)

        def speak():
            for number in range(50):
                said.acquire(timeout=20)
                yield str(number).encode()

        said.release()
        heard = []
        for reply in self.channel.stream_stream("/test.Echo/Converse")(speak(), timeout=20):
            heard.append(reply)
            said.release()  # the next is said only after the answer to the last
        self.assertEqual(heard, [b"re: %d" % number for number in range(50)])

    def test_many_calls_share_what_there_is(self):
        call = self.channel.unary_unary("/test.Echo/Echo")
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda number: call(b"%d" % number, timeout=20), range(400)))
        self.assertEqual(answers, [b"echo %d" % number for number in range(400)])

    def test_a_cancelled_call_is_cancelled_at_the_server(self):
        future = self.channel.unary_unary("/test.Echo/Wait").future(b"", timeout=20)
        with self.assertRaises(grpc.FutureTimeoutError):
            future.result(timeout=0.5)
        future.cancel()
        self.assertTrue(self.cancelled.wait(10))


if __name__ == "__main__":
    unittest.main()
