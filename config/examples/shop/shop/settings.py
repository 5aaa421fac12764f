"""What the application takes from its environment: `.env.hedge` first, then the process environment, which wins."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

ENV_FILE = ".env.hedge"


@dataclass(frozen=True)
class Settings:
    worktree_id: str
    slug: str
    app: str
    branch: str
    nonce: str
    public_url: str
    database_url: str
    test_database_url: str
    session_cookie: str
    host: str
    port: int

    @property
    def database(self) -> str:
        """The database's URL as it may be shown: without the password."""
        parts = urlsplit(self.database_url)
        if parts.password is None:
            return self.database_url
        address = parts.hostname or ""
        if parts.port:
            address = f"{address}:{parts.port}"
        return urlunsplit(parts._replace(netloc=f"{parts.username}@{address}"))


def read_env_file(path: Path) -> dict[str, str]:
    """Lines `NAME=value` or `NAME="value"`; comments and empty lines are passed over. A missing file is empty."""
    if not path.is_file():
        return {}
    values = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals or name.startswith("#"):
            continue
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        values[name] = value
    return values


def load(directory: Path, environment: dict[str, str] | None = None) -> Settings:
    values = {**read_env_file(directory / ENV_FILE), **(os.environ if environment is None else environment)}
    app = values.get("HEDGE_APP") or "shop"
    return Settings(
        worktree_id=values.get("HEDGE_ID", ""),
        slug=values.get("HEDGE_SLUG") or "main",
        app=app,
        branch=values.get("HEDGE_BRANCH", ""),
        nonce=values.get("HEDGE_NONCE", ""),
        public_url=values.get("HEDGE_URL", ""),
        database_url=values.get("DATABASE_URL") or f"sqlite://{quote(str(directory.resolve()))}/data/shop.sqlite3",
        test_database_url=values.get("TEST_DATABASE_URL") or f"sqlite://{quote(str(directory.resolve()))}/data/shop_test.sqlite3",
        session_cookie=values.get("SESSION_COOKIE") or f"{app}_session",
        host=values.get("HOST") or "127.0.0.1",
        port=int(values.get("PORT") or 8000),
    )
