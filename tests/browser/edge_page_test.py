"""Pages behind the edge in a real browser: HTTP/2 with event streams and WebSockets, cookies, redirects, shared connections."""

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
SCRIPTS = ("edge_page.mjs", "browser_app.mjs", "control_api.mjs")
WILDCARD = "subjectAltName=DNS:*.dev.localhost,DNS:alpha.test\nextendedKeyUsage=serverAuth\n"


def prepare() -> None:
    require_programs("node", "npm", "certutil", "openssl")
    if not Path(CHROMIUM).exists():
        skip("Chromium is not installed (scripts/setup test)")
    vite_project.packages()


def run(*command) -> None:
    subprocess.run([str(part) for part in command], check=True, timeout=60, capture_output=True)


class Pages(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-browser-")))
        self.hedge = HedgeProgram(self.directory)
        self.addCleanup(self.hedge.stop_edge)
        # The browser makes its database at its first start; ours is to be there before.
        self.nss = self.hedge.home / ".pki/nssdb"
        self.nss.mkdir(parents=True)
        run("certutil", "-N", "--empty-password", "-d", f"sql:{self.nss}")

    def trust_the_ca(self) -> None:
        self.hedge.run("ca", "trust", "--store", "nss")

    def wildcard_certificate(self) -> str:
        """One certificate for all names, of a root that the browser trusts; returns the settings that name it."""
        root, key, leaf, request, extensions = (self.directory / name for name in
                                                ("root.pem", "root.key", "leaf.pem", "leaf.csr", "leaf.ext"))
        leaf_key = self.directory / "leaf.key"
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        run("openssl", "req", "-x509", *new_key, "-keyout", key, "-out", root, "-days", "2", "-subj", "/CN=Test root")
        run("openssl", "req", *new_key, "-keyout", leaf_key, "-out", request, "-subj", "/CN=all names")
        extensions.write_text(WILDCARD, encoding="utf-8")
        run("openssl", "x509", "-req", "-in", request, "-CA", root, "-CAkey", key, "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", leaf)
        run("certutil", "-A", "-d", f"sql:{self.nss}", "-n", "test root", "-t", "C,,", "-i", root)
        return f'certificate = "{leaf}"\nprivate_key = "{leaf_key}"'

    def check(self, scenario: str, settings: str = "") -> None:
        self.hedge.start_edge(settings)
        if "certificate" not in settings:
            self.trust_the_ca()
        for script in SCRIPTS:
            # Node looks for packages beside the script.
            shutil.copy(Path(__file__).with_name(script), self.directory)
        (self.directory / "node_modules").symlink_to(vite_project.packages())
        plan = {"scenario": scenario, "chromium": CHROMIUM, "control": (self.hedge.state / "edge-control").read_text().strip(),
                "http": self.hedge.http_port, "https": self.hedge.https_port, "netlog": str(self.directory / "netlog.json")}
        done = subprocess.run(
            ["node", self.directory / SCRIPTS[0], json.dumps(plan)], env=self.hedge.environment, cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{self.hedge.edge_log()[-1000:]}")

    def test_E26_seven_tabs_keep_an_event_stream_open_each(self):
        self.check("eventStreams")

    def test_E24_a_websocket_is_opened_inside_the_pages_connection(self):
        self.check("webSocket")

    def test_E29_thirty_cookies_come_back(self):
        self.check("cookies")

    def test_E06_one_connection_for_two_worktrees_carries_the_answers_of_each(self):
        self.check("coalescing", self.wildcard_certificate())

    def test_C01_what_two_worktrees_set_for_their_parent_stays_apart(self):
        self.check("parentCookies")

    def test_C02_a_cookie_for_a_single_label_is_narrowed_to_its_worktree(self):
        self.check("singleLabelNarrowed")

    def test_C02_passed_as_it_is_no_browser_keeps_it(self):
        self.check("singleLabelPassed", 'cookies = "pass"')

    def test_C03_a_secure_cookie_over_http_is_kept_on_localhost_alone(self):
        self.check("secureCookiesOverHttp")

    def test_E32_relative_and_forwarded_redirects_end_at_one_place(self):
        self.check("redirects")


if __name__ == "__main__":
    unittest.main()
