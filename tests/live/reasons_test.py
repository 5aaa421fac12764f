"""E-39: `hedge verify` tells apart why an application in a container does not answer."""

import subprocess
from pathlib import Path

from compose_test import ALPHA, NETWORK, ComposeWorld, prepare
from support import compose_tools

__all__ = ["prepare", "VerifyReasons"]

PORT = 8000


class VerifyReasons(ComposeWorld):
    def reason(self, check_id: str) -> str | None:
        told = self.hedge.contract("verify", cwd=self.path, expect=None)
        self.assertNotEqual(told["status"], "ready")
        check = next(check for check in told["checks"] if check["id"] == check_id)
        self.assertEqual(check["status"], "fail", check)
        return check["error"]

    def container(self) -> str:
        return self.docker.run("ps", "-aq", "--filter", f"network={NETWORK}").split()[0]

    def serve_at(self, host: str, port: int) -> None:
        file = self.path / "compose.yml"
        text = file.read_text(encoding="utf-8").replace("HOST: 0.0.0.0", f"HOST: {host}").replace('PORT: "8000"', f'PORT: "{port}"')
        file.write_text(text, encoding="utf-8")
        self.hedge.run("up", cwd=self.path, expect=None)

    def test_E39_missing_stopped_refusing_and_silent_containers_have_identifiers_of_their_own(self):
        self.start(compose_tools.v2())
        self.path = Path(self.create(ALPHA)["workspace"]["path"])
        dropped = ["OUTPUT", "-d", self.docker.address(self.container(), NETWORK), "-p", "tcp", "--dport", str(PORT), "-j", "DROP"]
        subprocess.run(["iptables", "-I", *dropped], check=True, timeout=30)
        self.assertEqual(self.reason("route.answers"), "app_slow")
        subprocess.run(["iptables", "-D", *dropped], check=True, timeout=30)
        self.docker.run("stop", "-t", "1", self.container())
        self.assertEqual(self.reason("stack.running"), "stack_not_running")
        self.docker.run("rm", "-f", self.container())
        self.assertEqual(self.reason("stack.running"), "container_missing")
        for host, port in (("127.0.0.1", PORT), ("0.0.0.0", PORT + 1)):
            self.serve_at(host, port)
            self.assertEqual(self.reason("route.answers"), "app_not_listening", (host, port))
