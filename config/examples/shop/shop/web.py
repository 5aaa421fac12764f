"""The pages and endpoints, on aiohttp."""

import asyncio
import html
import json
import os
import secrets
import socket
import zlib
from pathlib import Path
from string import Template

from aiohttp import WSMsgType, web

from shop.settings import Settings
from shop.store import Note, Store

MAX_NOTE_CHARS = 2000
MAX_MESSAGE_BYTES = 64 * 1024
PAGE = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))


class Shop:
    def __init__(self, settings: Settings, directory: Path):
        self._settings = settings
        self._directory = directory
        self._store = Store(settings.database_url)
        self._sockets: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.get("/", self.index),
                web.get("/whoami", self.whoami),
                web.get("/healthz", self.healthz),
                web.get("/notes", self.list_notes),
                web.post("/notes", self.add_note),
                web.get("/ws", self.socket),
            ]
        )
        app.on_shutdown.append(self._close_sockets)
        return app

    def identity(self) -> dict[str, object]:
        settings = self._settings
        return {
            "app": settings.app,
            "worktree": settings.slug,
            "id": settings.worktree_id,
            "branch": settings.branch,
            "directory": str(self._directory),
            "database": settings.database,
            "cookie": settings.session_cookie,
            "url": settings.public_url,
            "hostname": socket.gethostname(),
            "pid": os.getpid(),
        }

    async def index(self, request: web.Request) -> web.Response:
        session = request.cookies.get(self._settings.session_cookie) or secrets.token_hex(8)
        notes = await asyncio.to_thread(self._store.notes)
        facts = {**self.identity(), "session": session}
        page = PAGE.substitute(
            title=html.escape(f"{self._settings.app} · {self._settings.slug}"),
            worktree=html.escape(self._settings.slug),
            branch=html.escape(self._settings.branch or "no branch"),
            # A hue of its own for each worktree, so that two open tabs are told apart at a glance.
            hue=str(zlib.crc32(self._settings.slug.encode()) % 360),
            facts="".join(
                f"<dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd>" for name, value in facts.items()
            ),
            notes="".join(f"<li>{html.escape(note.text)}</li>" for note in notes),
        )
        response = web.Response(text=page, content_type="text/html")
        response.set_cookie(
            self._settings.session_cookie,
            session,
            httponly=True,
            samesite="Lax",
            secure=request.headers.get("X-Forwarded-Proto") == "https",
        )
        return response

    async def whoami(self, request: web.Request) -> web.Response:
        return web.json_response(self.identity())

    async def healthz(self, request: web.Request) -> web.Response:
        """The worktree's nonce: proves that the process that answers was started for this very worktree."""
        return web.Response(text=self._settings.nonce, headers={"Cache-Control": "no-store"})

    async def list_notes(self, request: web.Request) -> web.Response:
        notes = await asyncio.to_thread(self._store.notes)
        return web.json_response([note.as_json() for note in notes])

    async def add_note(self, request: web.Request) -> web.StreamResponse:
        is_json = request.content_type == "application/json"
        text = await self._note_text(request, is_json)
        if not 0 < len(text) <= MAX_NOTE_CHARS:
            return web.json_response({"error": f"text must have 1 to {MAX_NOTE_CHARS} characters"}, status=422)
        note = await asyncio.to_thread(self._store.add, text, self._settings.slug)
        await self._announce(note)
        if is_json:
            return web.json_response(note.as_json(), status=201)
        raise web.HTTPSeeOther("/")

    @staticmethod
    async def _note_text(request: web.Request, is_json: bool) -> str:
        if not is_json:
            return str((await request.post()).get("text", "")).strip()
        try:
            body = await request.json()
        except json.JSONDecodeError:
            return ""
        text = body.get("text") if isinstance(body, dict) else None
        return text.strip() if isinstance(text, str) else ""

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Answers every text with an echo, and tells of each note that is added."""
        connection = web.WebSocketResponse(max_msg_size=MAX_MESSAGE_BYTES, heartbeat=30)
        await connection.prepare(request)
        self._sockets.add(connection)
        try:
            async for message in connection:
                if message.type == WSMsgType.TEXT:
                    await connection.send_json({"type": "echo", "text": message.data, "worktree": self._settings.slug})
        finally:
            self._sockets.discard(connection)
        return connection

    async def _announce(self, note: Note) -> None:
        event = {"type": "note-added", "note": note.as_json()}
        await asyncio.gather(*(each.send_json(event) for each in set(self._sockets)), return_exceptions=True)

    async def _close_sockets(self, app: web.Application) -> None:
        await asyncio.gather(*(each.close(code=1001) for each in set(self._sockets)), return_exceptions=True)


def serve(settings: Settings, directory: Path) -> None:
    shop = Shop(settings, directory)
    web.run_app(shop.application(), host=settings.host, port=settings.port, shutdown_timeout=2, access_log=None)
