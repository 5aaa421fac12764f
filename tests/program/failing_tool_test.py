"""K-09: whichever command of git fails, the run says so with git's own words, and the next run goes on."""

import json
import re
import shutil
import subprocess

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "FailingGit"]

WORDS = "the disk is on fire"
# Asked for by an optional check: told, and the worktree is ready all the same.
OPTIONAL = ("var GIT_AUTHOR_IDENT",)
# Of a branch that is gone; nothing is lost with its settings.
BEST_EFFORT = ("config --remove-section",)


class FailingGit(ShopWorld):
    def setUp(self):
        super().setUp()
        self.without_stack()
        self.count = self.directory / "count"
        shims = self.directory / "shims"
        shims.mkdir()
        shim = shims / "git"
        # Every call appends its line; the one whose number is asked for fails.
        shim.write_text(
            "#!/bin/sh\n"
            f'echo "$*" >> {self.count}\n'
            f'if [ "$(wc -l < {self.count})" -eq "$FAIL_AT" ]; then echo {WORDS} >&2; exit 1; fi\n'
            f'exec {shutil.which("git")} "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        self.shims = shims

    def failing_at(self, call: int, *arguments: str) -> subprocess.CompletedProcess:
        self.count.write_text("", encoding="utf-8")
        environment = {**self.hedge.environment, "PATH": f"{self.shims}:{self.hedge.environment['PATH']}", "FAIL_AT": str(call)}
        return subprocess.run([self.hedge.binary, *arguments, "--json"], cwd=self.main, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    def calls(self) -> list[str]:
        return self.count.read_text(encoding="utf-8").splitlines()

    def representatives(self) -> list[int]:
        """The number of the first call of each kind: paths and hashes apart, the same words."""
        kinds: dict[str, int] = {}
        for number, line in enumerate(self.calls(), 1):
            kind = re.sub(r"^-C \S+ ", "", line)
            kind = re.sub(r"\S*/\S*|\b[0-9a-f]{40}\b", "…", kind)
            kinds.setdefault(kind, number)
        return list(kinds.values())

    def judge(self, done: subprocess.CompletedProcess, call: int) -> None:
        made = self.calls()[call - 1]
        with self.subTest(call=call, made=made):
            told = json.loads(done.stdout)
            self.assertEqual(told["exit_code"], done.returncode)
            self.assertNotIn("internal_error", done.stdout)
            if any(words in made for words in BEST_EFFORT):
                return
            self.assertIn(WORDS, done.stdout)
            if not any(words in made for words in OPTIONAL):
                self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_K09_of_every_kind_of_call_that_create_makes(self):
        self.assertEqual(self.failing_at(0, "create", "feature/login").returncode, 0)
        chosen = self.representatives()
        self.assertGreater(len(chosen), 10)
        self.contract("destroy", "feature/login")
        for call in chosen:
            self.judge(self.failing_at(call, "create", "feature/login"), call)
            self.assertEqual(self.create("feature/login")["status"], "ready", "the next run goes on")
            self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
            self.assertEqual(self.git("branch", "--list", "feature/login"), "")

    def test_K09_of_every_kind_of_call_that_destroy_makes(self):
        self.create("feature/login")
        self.assertEqual(self.failing_at(0, "destroy", "feature/login").returncode, 0)
        chosen = self.representatives()
        self.assertGreater(len(chosen), 5)
        for call in chosen:
            self.create("feature/login")
            self.judge(self.failing_at(call, "destroy", "feature/login"), call)
            made = self.calls()[call - 1]
            gone = self.contract("destroy", "feature/login")
            self.assertEqual(gone["status"], "destroyed", "the next run goes on")
            self.assertEqual(self.git("branch", "--list", "feature/login"), "", f"{made}: {gone}")
            self.assertFalse((self.directory / "shop.feature-login").exists())
