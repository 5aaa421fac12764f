"""A Vite project in two worktrees, each open in a browser: an edit arrives in the worktree that was edited, only."""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import vite_project
from support.hedge_program import HedgeProgram
from support.private_world import require_programs, skip

CHROMIUM = "/usr/bin/chromium"
HEDGE_TOML = """
[app]
name = "vite"

[stack]
runtime = "process"

[[stack.processes]]
name = "web"
command = ["node", "node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", "{port}", "--strictPort"]
ready_path = "/"

[seed]
paths = ["node_modules"]
"""


def prepare() -> None:
    require_programs("node", "npm", "certutil", "git")
    if not Path(CHROMIUM).exists():
        skip("Chromium is not installed (scripts/setup test)")
    vite_project.packages()


class Vite(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-browser-")))
        self.hedge = HedgeProgram(self.directory)
        self.addCleanup(self.hedge.stop_edge)
        self.project = self.directory / "project"
        vite_project.make(self.project)
        (self.project / "hedge.toml").write_text(HEDGE_TOML, encoding="utf-8")
        self.hedge.git("init", "-q", cwd=self.project)
        self.hedge.git("add", ".", cwd=self.project)
        self.hedge.git("commit", "-qm", "from the template", cwd=self.project)
        self.hedge.start_edge()
        self.addCleanup(self._stop_worktrees)

    def _stop_worktrees(self):
        self.hedge.run("-C", self.project, "down", "--all", expect=None)

    def _trust_in_nss(self) -> None:
        """The browser makes its database at its first start; ours is to be there before."""
        database = self.hedge.home / ".pki/nssdb"
        database.mkdir(parents=True)
        subprocess.run(["certutil", "-N", "--empty-password", "-d", f"sql:{database}"], check=True, timeout=30)
        self.hedge.run("ca", "trust", "--store", "nss")
        listed = subprocess.run(["certutil", "-L", "-d", f"sql:{database}"], check=True, timeout=30, capture_output=True,
                                text=True).stdout
        self.assertIn("Hedge local CA", listed)

    def test_hot_reload_arrives_over_the_websocket_in_the_edited_worktree_only(self):
        contracts = [self.hedge.contract("-C", self.project, "create", branch) for branch in ("feature/red", "feature/blue")]
        for contract in contracts:
            self.assertEqual(contract["status"], "ready", contract)
        self._trust_in_nss()
        plan = {
            "chromium": CHROMIUM,
            "edited": {"url": contracts[0]["app"]["url"], "directory": contracts[0]["workspace"]["path"]},
            "other": {"url": contracts[1]["app"]["url"], "directory": contracts[1]["workspace"]["path"]},
        }
        script = Path(__file__).with_name("hot_reload.mjs")
        # Node looks for packages beside the script.
        shutil.copy(script, self.directory)
        (self.directory / "node_modules").symlink_to(vite_project.packages())
        done = subprocess.run(
            ["node", self.directory / script.name, json.dumps(plan)], env=self.hedge.environment, cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{self.hedge.edge_log()[-1000:]}")


if __name__ == "__main__":
    unittest.main()
