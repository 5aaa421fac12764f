"""Clients that ask without a pause and remember every failure."""

import http.client

from support.client_threads import ClientThreads


class Load(ClientThreads):
    """`keep_alive` clients that keep their connection as long as the server does, and `one_shot` ones that connect anew each time."""

    def __init__(self, port: int, host: str, keep_alive: int = 3, one_shot: int = 3):
        self._port, self._host = port, host
        self.answered = 0
        self.failures: list[str] = []
        super().__init__(self._run, [False] * keep_alive + [True] * one_shot)

    def _run(self, close: bool) -> None:
        connection = None
        while not self.stop.is_set():
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
                connection.request("GET", "/", headers={"Host": self._host, **({"Connection": "close"} if close else {})})
                response = connection.getresponse()
                body = response.read()
                if response.status != 200 or body != b"hello":
                    raise AssertionError(f"{response.status} {body[:200]!r}")
                if response.will_close:
                    connection.close()
                    connection = None
                with self.lock:
                    self.answered += 1
            except (OSError, http.client.HTTPException, AssertionError) as failure:
                with self.lock:
                    self.failures.append(f"{'one-shot' if close else 'keep-alive'}: {failure!r}")
                if connection:
                    connection.close()
                connection = None
        if connection:
            connection.close()
