"""A repository with the sample application as processes with SQLite, and an edge."""

import json
import shutil
import subprocess
from pathlib import Path

from program_world import ProgramWorld, prepare

__all__ = ["prepare", "ShopWorld"]

EXAMPLE = Path(__file__).resolve().parents[2] / "config/examples/shop"
LIMIT = 120


class ShopWorld(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.main = self.directory / "shop"
        shutil.copytree(EXAMPLE, self.main, ignore=shutil.ignore_patterns("__pycache__", "data"))
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "the shop")
        self.addCleanup(self._end_stacks)

    def _end_stacks(self) -> None:
        """The private world ends every process with the test; this only frees the ports for the next one outside of it."""
        for worktree in self.worktrees():
            self.hedge.run("down", cwd=Path(worktree["path"]) if Path(worktree["path"]).exists() else self.main, expect=None)

    def git(self, *arguments, cwd: Path | None = None) -> str:
        return self.hedge.git(*arguments, cwd=cwd or self.main)

    def without_stack(self, *lines: str) -> None:
        """The repository's configuration becomes the least there is, for tests of what surrounds a stack; `lines` are added."""
        (self.main / "hedge.toml").write_text("\n".join(
            ["[app]", 'name = "shop"', "[stack]", 'runtime = "none"', *lines, ""]), encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", "without a stack")

    def worktrees(self) -> list[dict]:
        return json.loads(self.hedge.run("list", "--json").stdout)["worktrees"]

    def contract(self, *arguments, cwd: Path | None = None, expect: int | None = 0) -> dict:
        return self.hedge.contract(*arguments, cwd=cwd or self.main, expect=expect)

    def create(self, branch: str, *options) -> dict:
        return self.contract("create", branch, *options)

    def start(self, *arguments, cwd: Path | None = None, **options) -> subprocess.Popen:
        """A run whose end the test decides."""
        return subprocess.Popen([self.hedge.binary, *arguments], cwd=cwd or self.main, env=self.hedge.environment, text=True,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    @staticmethod
    def wait_for_line(stream, text: str) -> str:
        for line in stream:
            if text in line:
                return line
        raise AssertionError(f"no line with {text}")

    @staticmethod
    def is_running(process: int) -> bool:
        """Process 1 of a private world buries nobody: a zombie is gone."""
        try:
            return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    @staticmethod
    def check(told: dict, identifier: str) -> dict:
        return next(check for check in told["checks"] if check["id"] == identifier)

    def host(self, told: dict) -> str:
        return told["app"]["hostnames"][0]

    def note(self, host: str, text: str) -> None:
        answer = self.hedge.client().request(host, "/notes", "POST", json.dumps({"text": text}),
                                             {"Content-Type": "application/json"})
        self.assertEqual(answer.status, 201, answer.body)

    def notes(self, host: str) -> list[str]:
        return [note["text"] for note in self.hedge.get(host, "/notes").json()]

    def assert_no_trace(self, branch: str, slug: str) -> None:
        """Git, directory, registry and routes know nothing of it."""
        self.assertNotIn(slug, [worktree["slug"] for worktree in self.worktrees()])
        self.assertNotIn(f"shop.{slug}", self.git("worktree", "list", "--porcelain"))
        self.assertEqual([route for route in self.json("route", "ls")["routes"] if f".{slug}." in route["host"]], [])
        self.assertFalse((self.directory / f"shop.{slug}").exists())
        self.assertEqual(self.git("branch", "--list", branch), "")
