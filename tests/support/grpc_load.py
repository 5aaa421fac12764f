"""gRPC clients that call without a pause and remember every failure: HTTP/2 whose connections live long."""

from concurrent.futures import ThreadPoolExecutor

import grpc

from support.client_threads import ClientThreads

METHOD = "/test.Echo/Echo"


class GrpcApp:
    """Sends back what it gets. `port`: HTTP/2 in clear."""

    def __init__(self):
        self._server = grpc.server(ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
            "test.Echo", {"Echo": grpc.unary_unary_rpc_method_handler(lambda request, _: request)}),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait(10)


class GrpcLoad(ClientThreads):
    """Each client has a connection of its own, for as long as the server lets it."""

    def __init__(self, port: int, host: str, clients: int = 2):
        self.answered = 0
        self.failures: list[str] = []
        # Without a proxy of the environment, and without sharing connections between channels.
        options = (("grpc.default_authority", host), ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0))
        self._channels = [grpc.insecure_channel(f"127.0.0.1:{port}", options) for _ in range(clients)]
        super().__init__(self._run, self._channels)

    def __exit__(self, *failure) -> None:
        super().__exit__(*failure)
        for channel in self._channels:
            channel.close()

    def _run(self, channel: grpc.Channel) -> None:
        call = channel.unary_unary(METHOD)
        while not self.stop.is_set():
            try:
                if call(b"hello", timeout=20) != b"hello":
                    raise AssertionError("another answer")
                with self.lock:
                    self.answered += 1
            except (grpc.RpcError, AssertionError) as failure:
                with self.lock:
                    self.failures.append(repr(failure))
