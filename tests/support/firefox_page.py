"""Asks a headless Firefox what a page says, over WebDriver BiDi."""

import asyncio
from pathlib import Path

import aiohttp

from support import bounded_wait
from support.child_process import ChildProcess

PORT = 9333
ADDRESS = f"ws://127.0.0.1:{PORT}/session"


async def _ask(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.ws_connect(ADDRESS, timeout=20) as socket:
        number = 0

        async def call(method: str, params: dict) -> dict:
            nonlocal number
            number += 1
            await socket.send_json({"id": number, "method": method, "params": params})
            while True:
                message = await asyncio.wait_for(socket.receive_json(), 60)
                if message.get("id") == number:
                    return message

        await call("session.new", {"capabilities": {}})
        tree = await call("browsingContext.getTree", {})
        context = tree["result"]["contexts"][0]["context"]
        moved = await call("browsingContext.navigate", {"context": context, "url": url, "wait": "complete"})
        if moved["type"] == "error":
            return f"error: {moved['message']}"
        shown = await call("script.evaluate", {"expression": "document.documentElement.innerText", "target": {"context": context},
                                               "awaitPromise": False})
        return shown.get("result", {}).get("result", {}).get("value", f"error: {shown}")


def text_of(url: str, profile: Path, log: Path, environment: dict[str, str]) -> str:
    """The text of the page; "error: ..." where the browser refuses to show it."""
    firefox = ChildProcess(["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", str(PORT)],
                           log, cwd=profile, env=environment)
    try:
        bounded_wait.until(lambda: "WebDriver BiDi listening" in firefox.log(), 90, "Firefox listens")
        return asyncio.run(_ask(url))
    finally:
        firefox.stop()
