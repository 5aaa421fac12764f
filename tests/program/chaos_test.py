"""Applications die, come back elsewhere and misbehave under load, and so do clients: nobody ever gets another worktree's answer.

HEDGE_CHAOS_REQUESTS=10000 makes a longer run of it; HEDGE_CHAOS_SEED repeats one."""

import asyncio
import os
import random
import ssl
import time
from collections import deque
from pathlib import Path

from program_world import ProgramWorld, prepare
from support.chaos_clients import HOST, Clients
from support.control_api import ControlApi
from support.unruly_upstreams import Application, NameServer, remove_socket

__all__ = ["prepare", "Chaos"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
WORKTREES = 20
CLIENTS = 12
PORT = 8000
DNS_PORT = 5353
# An address belongs to somebody else only when no answer of the name server may still be in use for it.
QUARANTINE_SECONDS = 4


class Stack:
    """One worktree's application and its route: a third each has an address, a socket file and a name."""

    def __init__(self, number: int, chance: random.Random, directory: Path, names: NameServer, addresses: deque):
        self.worktree = f"wt{number}"
        self.kind = ("tcp", "unix", "dns")[number % 3]
        self.application = Application(self.worktree, chance)
        self._names, self._addresses, self._name = names, addresses, f"app-{number}.test"
        self._socket = directory / f"{number}.sock"
        self._address = f"127.0.2.{number + 1}"

    @property
    def upstream(self) -> str:
        places = {"tcp": f"tcp:{self._address}:{PORT}", "unix": f"unix:{self._socket}", "dns": f"dns:{self._name}:{PORT}"}
        return places[self.kind]

    async def start(self) -> None:
        if self.kind == "unix":
            remove_socket(self._socket)
            return await self.application.listen(self._socket)
        if self.kind == "dns":
            released, address = self._addresses[0]
            if time.monotonic() < released:
                return await self._restart_later()
            self._addresses.popleft()
            self._address = address
            self._names.addresses[self._name] = address
        await self.application.listen(self._address, PORT)

    async def _restart_later(self) -> None:
        await asyncio.sleep(0.2)
        await self.start()

    def kill(self) -> None:
        self.application.kill()
        # As Docker does it: the name is gone with the container, and the next one to start may get the address.
        if self.kind == "dns" and self._names.addresses.pop(self._name, None):
            self._addresses.append((time.monotonic() + QUARANTINE_SECONDS, self._address))


class Chaos(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.requests = int(os.environ.get("HEDGE_CHAOS_REQUESTS", "600"))
        self.seed = int(os.environ.get("HEDGE_CHAOS_SEED", random.randrange(2**32)))
        print(f"HEDGE_CHAOS_SEED={self.seed}", flush=True)
        self.hedge.run("ca", "init")
        self.hedge.start_edge(f'dns_servers = ["127.0.0.1:{DNS_PORT}"]')
        certificate = self.directory / "ca.pem"
        certificate.write_text(self.hedge.run("ca", "export").stdout, encoding="utf-8")
        self.trust = ssl.create_default_context(cafile=str(certificate))
        self.api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))

    async def make_stacks(self) -> list[Stack]:
        names, chance = NameServer(), random.Random(self.seed)
        await names.listen(DNS_PORT)
        # Few enough that addresses come round.
        addresses = deque((0.0, f"127.0.3.{i}") for i in range(1, WORKTREES // 3 + 4))
        stacks = [Stack(number, random.Random(chance.random()), self.directory, names, addresses) for number in range(WORKTREES)]
        for stack in stacks:
            await stack.start()
            host = HOST.format(stack.worktree)
            body = f'{{"upstream": "{stack.upstream}", "worktree": "shop/{stack.worktree}"}}'
            await asyncio.to_thread(self.api.ask, "PUT", "/v1/routes/{host}", 200, f"/v1/routes/{host}", body)
        return stacks

    @staticmethod
    async def disturb(stacks: list[Stack], chance: random.Random) -> None:
        while True:
            stack = chance.choice(stacks)
            stack.kill()
            await asyncio.sleep(chance.random() / 4)
            await stack.start()
            await asyncio.sleep(chance.random() / 4)

    async def play(self) -> Clients:
        stacks = await self.make_stacks()
        chance = random.Random(self.seed + 1)
        ports = {"http": self.hedge.http_port, "https": self.hedge.https_port}
        clients = Clients(ports, self.trust, [stack.worktree for stack in stacks], chance)
        disturbance = asyncio.create_task(self.disturb(stacks, random.Random(self.seed + 2)))
        await asyncio.gather(*(clients.run(self.requests) for _ in range(CLIENTS)))
        self.assertFalse(disturbance.done(), "the disturbance went on to the end")
        disturbance.cancel()
        await asyncio.gather(disturbance, return_exceptions=True)
        await self.settle(stacks, clients)
        return clients

    async def settle(self, stacks: list[Stack], clients: Clients) -> None:
        """With peace restored, every worktree answers for itself."""
        for stack in stacks:
            stack.application.is_unruly = False
            stack.kill()
        for stack in stacks:
            await stack.start()
        for stack in stacks:
            until = time.monotonic() + 20
            while await clients.ask(stack.worktree, "post", 0) != "answered":
                self.assertLess(time.monotonic(), until, f"{stack.worktree} does not answer again")
                await asyncio.sleep(0.1)

    def test_nobody_gets_anothers_answer_while_applications_die_and_come_back(self):
        before = self.api.ask("GET", "/v1/status", 200)["pid"]
        clients = asyncio.run(self.play())
        print(dict(clients.outcomes), flush=True)
        self.assertEqual(clients.wrong, [])
        self.assertEqual(self.api.ask("GET", "/v1/status", 200)["pid"], before, "the same process to the end")
        # It was neither all peace nor all war.
        total = sum(clients.outcomes.values())
        self.assertGreater(clients.outcomes["answered"] + clients.outcomes["tunnelled"], total // 4, clients.outcomes)
        told = sum(count for outcome, count in clients.outcomes.items() if outcome.startswith("told "))
        self.assertGreater(told, 0, clients.outcomes)
