"""Applications of many worktrees that answer with their own name, and misbehave, die and come back; and a name server for them."""

import asyncio
import os
import random
import socket
import struct
from pathlib import Path

# How an application treats one request. The first is the rule.
MOODS = ("well", "late", "byte by byte", "cut", "reset", "garbage", "slow", "closes afterwards")
PIECE_SECONDS = 0.005
BIG = 200_000


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with RST."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answer_to(worktree: str, target: str, body: bytes) -> bytes:
    """What the application of `worktree` says to a request; the target says how long that is."""
    text = f"{worktree} {target} ".encode() + body
    return text + b"." * BIG if "big" in target else text


async def read_head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    return lines[0], {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}


async def read_body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(fields.get("content-length", 0)))
    body = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        body += (await reader.readexactly(size + 2))[:-2]
        if size == 0:
            return body


class Application:
    """The one application of a worktree, wherever it listens just now."""

    def __init__(self, worktree: str, chance: random.Random):
        self.worktree, self._chance = worktree, chance
        self.is_unruly = True
        self._server: asyncio.base_events.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def listen(self, address: str | Path, port: int = 0) -> None:
        if isinstance(address, Path):
            self._server = await asyncio.start_unix_server(self._serve, path=str(address))
        else:
            self._server = await asyncio.start_server(self._serve, address, port, reuse_address=True)

    def kill(self) -> None:
        """Every connection ends at once; nothing listens any more."""
        self._server.close()
        for writer in list(self._connections):
            reset(writer)

    def _mood(self) -> str:
        return self._chance.choice(MOODS) if self.is_unruly and self._chance.random() < 0.3 else "well"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, fields = await read_head(reader)
        target, mood = line.split(" ")[1], self._mood()
        if fields.get("upgrade") == "echo":
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n" + f"{self.worktree} ".encode())
            while data := await reader.read(4096):
                writer.write(data)
            return False
        body = answer_to(self.worktree, target, await read_body(reader, fields))
        if mood == "late":
            await asyncio.sleep(self._chance.random() / 5)
        if mood in ("reset", "garbage"):
            writer.write(b"\x00\x01 this is not HTTP\r\n\r\n" if mood == "garbage" else b"")
            reset(writer)
            return False
        head = f"HTTP/1.1 200 OK\r\nX-Worktree: {self.worktree}\r\n"
        if "chunked" in target:
            wire = f"{head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        else:
            wire = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        return await self._send(writer, wire, mood)

    async def _send(self, writer: asyncio.StreamWriter, wire: bytes, mood: str) -> bool:
        if mood == "cut":
            writer.write(wire[: self._chance.randrange(len(wire))])
            return False
        pieces = 1 if mood == "well" else 20 if mood in ("slow", "byte by byte") else 2
        step = 1 if mood == "byte by byte" else max(1, len(wire) // pieces)
        for i in range(pieces):
            writer.write(wire[i * step: (i + 1) * step])
            await writer.drain()
            if pieces == 20:
                await asyncio.sleep(PIECE_SECONDS)
        writer.write(wire[pieces * step:])
        await writer.drain()
        return mood != "closes afterwards"


class NameServer(asyncio.DatagramProtocol):
    """Says for each name the one address that it has just now, and that this stays so for 600 s, as Docker's does."""

    def __init__(self):
        self.addresses: dict[str, str] = {}

    async def listen(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", port))

    def connection_made(self, transport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, peer) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1: at + 1 + data[at]].decode("latin-1").lower())
            at += 1 + data[at]
        question = data[12: at + 5]
        is_a = data[at + 1: at + 3] == b"\x00\x01"
        address = self.addresses.get(".".join(labels))
        record = b""
        if address and is_a:
            record = b"\xc0\x0c\x00\x01\x00\x01" + struct.pack(">IH", 600, 4) + socket.inet_aton(address)
        code = 0 if address else 3
        header = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, 1 if record else 0, 0, 0)
        self._transport.sendto(header + question + record, peer)


def remove_socket(path: Path) -> None:
    if path.exists():
        os.unlink(path)
