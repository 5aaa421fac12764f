"""Threads that act without a pause for as long as a `with` lasts."""

import threading


class ClientThreads:
    """Calls `run` with each of `arguments`, each in a thread of its own. `run` returns soon after `stop` is set."""

    def __init__(self, run, arguments):
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self._threads = [threading.Thread(target=run, args=(argument,), daemon=True) for argument in arguments]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(30)
