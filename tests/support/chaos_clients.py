"""Clients of many kinds that know what they must be told, and by whom, and that misbehave themselves."""

import asyncio
import random
import ssl
from collections import Counter

from support.unruly_upstreams import BIG, answer_to, read_body, read_head, reset

LIMIT_SECONDS = 30
KINDS = ("get", "get", "post", "chunked post", "big", "http10", "upgrade", "cut", "noise", "slow reader")
HOST = "{}.chaos.localhost"


class Wrong(Exception):
    """An answer that must not be."""


class Clients:
    """Counts what became of its requests in `outcomes`; what must not be is in `wrong`."""

    def __init__(self, ports: dict[str, int], trust: ssl.SSLContext, worktrees: list[str], chance: random.Random):
        self._ports, self._trust, self._worktrees, self._chance = ports, trust, worktrees, chance
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._number = 0

    async def run(self, until: int) -> None:
        """Asks until so many requests were made by all of them together."""
        while self._number < until and len(self.wrong) < 10:
            self._number += 1
            worktree, kind = self._chance.choice(self._worktrees), self._chance.choice(KINDS)
            outcome = await self.ask(worktree, kind, self._number)
            self.outcomes[outcome] += 1

    async def ask(self, worktree: str, kind: str, number: int) -> str:
        scheme = self._chance.choice(("http", "https"))
        what = f"request {number}, {kind} to {worktree} over {scheme}"
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return await self._ask(worktree, kind, number, scheme)
        except TimeoutError:
            self.wrong.append(f"{what}: no end within {LIMIT_SECONDS} s")
        except Wrong as reason:
            self.wrong.append(f"{what}: {reason}")
        except (OSError, EOFError, ValueError):
            return "broken off"
        return "wrong"

    async def _ask(self, worktree: str, kind: str, number: int, scheme: str) -> str:
        host = HOST.format(worktree)
        tls = {"ssl": self._trust, "server_hostname": host} if scheme == "https" else {}
        reader, writer = await asyncio.open_connection("127.0.0.1", self._ports[scheme], **tls)
        try:
            if kind == "noise":
                return await self._noise(reader, writer)
            # Some send several requests on their connection.
            for again in range(self._chance.randrange(1, 4) if kind in ("get", "post") else 1):
                outcome = await self._one(reader, writer, worktree, kind, f"{number}.{again}")
                if outcome != "answered":
                    return outcome
            return "answered"
        finally:
            if kind == "cut":
                reset(writer)
            writer.close()

    async def _noise(self, reader, writer) -> str:
        writer.write(self._chance.randbytes(self._chance.randrange(1, 3000)) + b"\r\n\r\n")
        writer.write_eof() if writer.can_write_eof() else None
        await reader.read()
        return "noise"

    async def _one(self, reader, writer, worktree: str, kind: str, number: str) -> str:
        target = f"/{number}" + ("/big" if kind in ("big", "slow reader") else "") + self._chance.choice(("", "/chunked"))
        body = self._chance.randbytes(self._chance.randrange(50_000)) if "post" in kind else b""
        wire = self._request(HOST.format(worktree), target, kind, body)
        if kind == "cut":
            writer.write(wire[: self._chance.randrange(len(wire))])
            await writer.drain()
            return "cut by the client"
        await self._send(writer, wire)
        if kind == "upgrade":
            return await self._tunnel(reader, writer, worktree)
        return await self._check(reader, worktree, kind, answer_to(worktree, target, body))

    def _request(self, host: str, target: str, kind: str, body: bytes) -> bytes:
        fields = f"Host: {host}\r\n"
        if kind == "upgrade":
            fields += "Upgrade: echo\r\nConnection: Upgrade\r\n"
        if kind == "chunked post":
            fields += "Transfer-Encoding: chunked\r\n"
            middle = len(body) // 2
            parts = [part for part in (body[:middle], body[middle:]) if part]
            body = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"
        elif body:
            fields += f"Content-Length: {len(body)}\r\n"
        method = "POST" if "post" in kind else "GET"
        version = "1.0" if kind == "http10" else "1.1"
        return f"{method} {target} HTTP/{version}\r\n{fields}\r\n".encode() + body

    async def _send(self, writer, wire: bytes) -> None:
        cut = self._chance.randrange(len(wire)) if self._chance.random() < 0.3 else 0
        writer.write(wire[:cut])
        if cut:
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(wire[cut:])
        await writer.drain()

    async def _check(self, reader, worktree: str, kind: str, expected: bytes) -> str:
        line, fields = await read_head(reader)
        status = line.split(" ")[1]
        if fields.get("hedge-error"):
            if status not in ("502", "503", "504"):
                raise Wrong(f"the edge answers {line} {fields['hedge-error']}")
            await read_body(reader, fields)
            return f"told {fields['hedge-error']}"
        if fields.get("x-worktree") != worktree:
            raise Wrong(f"answered by {fields.get('x-worktree')}: {line}")
        if kind == "slow reader":
            await asyncio.sleep(self._chance.random() / 10)
        if "transfer-encoding" in fields or "content-length" in fields:
            body = await read_body(reader, fields)
        else:
            body = await reader.read()
        # Only an HTTP/1.0 client takes the end of the connection for the end of the body, and there it is a reset.
        if body != expected:
            raise Wrong(f"{len(body)} of {len(expected)} bytes, beginning {body[:60]!r}")
        return "answered"

    async def _tunnel(self, reader, writer, worktree: str) -> str:
        line, fields = await read_head(reader)
        if fields.get("hedge-error"):
            return f"told {fields['hedge-error']}"
        if line.split(" ")[1] != "101":
            raise Wrong(line)
        name = await reader.readuntil(b" ")
        if name != f"{worktree} ".encode():
            raise Wrong(f"the tunnel leads to {name!r}")
        text = self._chance.randbytes(self._chance.randrange(1, 20_000))
        writer.write(text)
        if await reader.readexactly(len(text)) != text:
            raise Wrong("the tunnel changes bytes")
        return "tunnelled"


__all__ = ["BIG", "Clients", "HOST"]
