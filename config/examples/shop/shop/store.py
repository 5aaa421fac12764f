"""The notes, in SQLite (`sqlite:///absolute/path`) or PostgreSQL (`postgresql://user:password@host:port/name`)."""

import sqlite3
import uuid
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import unquote, urlsplit

MIGRATIONS = Path(__file__).with_name("migrations")
BUSY_SECONDS = 5
CONNECT_SECONDS = 5


@dataclass(frozen=True)
class Note:
    id: str
    text: str
    worktree: str
    created_at: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


class Store:
    """One connection an operation: at this size nothing is gained by keeping them, and nothing can go stale."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        if parts.scheme == "sqlite":
            self._path = Path(unquote(parts.path))
            self._parameter = "?"
            self._connect = self._connect_sqlite
        elif parts.scheme in ("postgres", "postgresql"):
            self._url = url
            self._parameter = "%s"
            self._connect = self._connect_postgres
        else:
            raise ValueError(f"unsupported database URL scheme: {parts.scheme!r}")

    def _connect_sqlite(self):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS))

    def _connect_postgres(self):
        import psycopg2  # only here, so that the SQLite form needs nothing but the standard library

        return closing(psycopg2.connect(self._url, connect_timeout=CONNECT_SECONDS))

    def _begin(self, connection):
        """Opens a transaction. psycopg2 does so by itself; sqlite3 not before a CREATE TABLE, which would then stay after a kill."""
        if isinstance(connection, sqlite3.Connection):
            connection.execute("BEGIN IMMEDIATE")

    def _execute(self, connection, sql: str, parameters: tuple = ()):
        cursor = connection.cursor()
        cursor.execute(sql.replace("?", self._parameter), parameters)
        return cursor

    def pending_migrations(self) -> list[str]:
        """Names of the migrations that this database does not have yet, in the order in which they run."""
        with self._connect() as connection:
            applied = self._applied(connection)
        return [path.stem for path in sorted(MIGRATIONS.glob("*.sql")) if path.stem not in applied]

    def _applied(self, connection) -> set[str]:
        self._execute(connection, "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY)")
        connection.commit()
        return {row[0] for row in self._execute(connection, "SELECT name FROM schema_migrations").fetchall()}

    def migrate(self) -> list[str]:
        """Applies what is pending, each migration in a transaction of its own; returns the names applied."""
        pending = self.pending_migrations()
        with self._connect() as connection:
            for name in pending:
                self._begin(connection)
                for statement in (MIGRATIONS / f"{name}.sql").read_text(encoding="utf-8").split(";"):
                    if statement.strip():
                        self._execute(connection, statement)
                self._execute(connection, "INSERT INTO schema_migrations (name) VALUES (?)", (name,))
                connection.commit()
        return pending

    def notes(self) -> list[Note]:
        with self._connect() as connection:
            rows = self._execute(
                connection, "SELECT id, text, worktree, created_at FROM notes ORDER BY created_at, id"
            ).fetchall()
        return [Note(*row) for row in rows]

    def add(self, text: str, worktree: str) -> Note:
        now = datetime.now(timezone.utc).isoformat(timespec="microseconds")
        note = Note(str(uuid.uuid4()), text, worktree, now)
        with self._connect() as connection:
            self._execute(
                connection,
                "INSERT INTO notes (id, text, worktree, created_at) VALUES (?, ?, ?, ?)",
                (note.id, note.text, note.worktree, note.created_at),
            )
            connection.commit()
        return note
