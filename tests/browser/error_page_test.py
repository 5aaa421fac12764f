"""The edge's own pages in a browser: they show what they say, in light and dark, run nothing, and look again by themselves."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import vite_project
from support.hedge_program import HedgeProgram
from support.private_world import require_programs, skip
from support.small_app import SmallApp

CHROMIUM = "/usr/bin/chromium"
SCRIPTS = ("error_page.mjs", "control_api.mjs")


def prepare() -> None:
    require_programs("node", "npm")
    if not Path(CHROMIUM).exists():
        skip("Chromium is not installed (scripts/setup test)")
    vite_project.packages()


class ErrorPages(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-browser-")))
        self.hedge = HedgeProgram(self.directory)
        self.addCleanup(self.hedge.stop_edge)
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.hedge.start_edge()

    def put(self, host: str, upstream: str, worktree: str = "", state: str = "live") -> None:
        """As the manager registers a route, with an owner and a state."""
        path = (self.hedge.state / "edge-control").read_text().strip()
        body = json.dumps({"upstream": upstream, "worktree": worktree, "state": state})
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(20)
            control.connect(path)
            control.sendall(f"PUT /v1/routes/{host} HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertIn(b" 200 ", control.recv(4096).split(b"\r\n")[0])

    def run_script(self, plan: dict) -> None:
        for script in SCRIPTS:
            # Node looks for packages beside the script.
            shutil.copy(Path(__file__).with_name(script), self.directory)
        (self.directory / "node_modules").symlink_to(vite_project.packages())
        done = subprocess.run(
            ["node", self.directory / SCRIPTS[0], json.dumps(plan)], env=self.hedge.environment, cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{self.hedge.edge_log()[-1000:]}")

    def test_pages_show_the_command_in_light_and_dark_and_a_starting_worktree_appears_by_itself(self):
        self.put("refused.localhost", "tcp:127.0.0.1:1", "shop-login-1a2b")
        self.put("missing.localhost", "dns:nowhere.invalid:80", "shop-cart-3c4d")
        self.put("starting.localhost", f"tcp:127.0.0.1:{self.app.port}", "shop-new-5e6f", "starting")
        for number in range(20):
            self.put(f"shop-feature-{number}.dev.localhost", f"tcp:127.0.0.1:{self.app.port}", f"shop-{number}")
        hosts = {"refused.localhost": [502, "hedge verify shop-login-1a2b"], "missing.localhost": [502, "hedge up shop-cart-3c4d"],
                 "nobody.localhost": [404, "hedge route ls"]}
        self.run_script({
            "chromium": CHROMIUM, "port": self.hedge.http_port, "hosts": hosts, "starting": "starting.localhost",
            "control": (self.hedge.state / "edge-control").read_text().strip(),
            "live": {"upstream": f"tcp:127.0.0.1:{self.app.port}", "worktree": "shop-new-5e6f", "state": "live"},
            # A directory for pictures of the pages; none are made without it.
            "pictures": os.environ.get("HEDGE_TEST_PICTURES", ""),
        })


if __name__ == "__main__":
    unittest.main()
