"""Worktrees as Compose stacks with PostgreSQL: the whole job, with both generations of Compose."""

import ast
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import compose_tools, sample_image
from support.hedge_program import HedgeProgram
from support.private_docker import PrivateDocker
from support.private_postgres import PrivatePostgres
from support.private_world import require_programs

NETWORK, SUBNET, GATEWAY = "hedge", "10.89.9.0/24", "10.89.9.1"
ALPHA, BETA = "feature/alpha", "feature/beta"


def prepare() -> None:
    require_programs("dockerd", "docker")
    sample_image.archive()
    compose_tools.v2()


class ComposeWorld(unittest.TestCase):
    def start(self, compose: Path) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-live-")))
        self.docker = self.enterContext(PrivateDocker())
        self.docker.import_image(sample_image.archive(), "shop")
        self.docker.run("network", "create", "--subnet", SUBNET, NETWORK)
        # On the network's bridge, where both this host and every container reach it by the same address.
        self.postgres = self.enterContext(PrivatePostgres((GATEWAY,)))
        self.hedge = HedgeProgram(self.directory, {
            **compose_tools.environment(compose, self.directory / "tools"),
            "DOCKER_HOST": self.docker.host,
            "HEDGE_POSTGRES_ADMIN_URL": self.postgres.url(host=GATEWAY),
        })
        self.addCleanup(self.hedge.stop_edge)
        self._make_repository()
        self.hedge.start_edge(f'network = "{NETWORK}"')

    def _make_repository(self) -> None:
        self.repository = self.directory / "shop"
        shutil.copytree(sample_image.SHOP, self.repository, ignore=shutil.ignore_patterns("__pycache__", "data"))
        (self.repository / "hedge.compose.toml").replace(self.repository / "hedge.toml")
        self.hedge.git("init", "-q", cwd=self.repository)
        self.hedge.git("add", ".", cwd=self.repository)
        self.hedge.git("commit", "-qm", "the shop", cwd=self.repository)
        # Main's own database with a note in it: what the golden copy is made from.
        self.postgres.query("CREATE DATABASE shop")
        environment = {**os.environ, "DATABASE_URL": self.postgres.url("shop"), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(["/usr/bin/python3", "-m", "shop", "migrate"], cwd=self.repository, env=environment, check=True,
                       timeout=60, capture_output=True)
        self.postgres.query("INSERT INTO notes VALUES ('1', 'from main', 'main', '2026-01-01')", "shop")

    def create(self, branch: str) -> dict:
        contract = self.hedge.contract("-C", self.repository, "create", branch)
        self.assertEqual(contract["status"], "ready", contract)
        return contract

    def ask(self, contract: dict, path: str, **options):
        """Over HTTPS, with the certificate verified."""
        host = contract["app"]["hostnames"][0]
        client = self.hedge.tls_client(host)
        try:
            return client.request(f"{host}:{self.hedge.https_port}", path, **options)
        finally:
            client.close()

    def notes(self, contract: dict) -> list[str]:
        answer = self.ask(contract, "/notes")
        self.assertEqual(answer.status, 200, answer.body[:500])
        return [note["text"] for note in answer.json()]

    def databases(self) -> set[str]:
        return set(self.postgres.query("SELECT datname FROM pg_database").split())

    def whole_job(self, compose: Path) -> None:
        self.start(compose)
        alpha, beta = self.create(ALPHA), self.create(BETA)
        for contract in (alpha, beta):
            answer = self.ask(contract, "/whoami")
            self.assertEqual(answer.status, 200, answer.body[:500])
            self.assertEqual(answer.json()["worktree"], contract["workspace"]["slug"])
            self.assertEqual(answer.json()["cookie"], contract["app"]["cookies"]["session"])
            self.assertTrue(answer.json()["database"].endswith("/" + contract["data"]["database"]["app"]))
            self.assertIn("from main", self.notes(contract))

        text = {"body": '{"text": "for alpha"}', "headers": {"Content-Type": "application/json"}}
        self.assertEqual(self.ask(alpha, "/notes", method="POST", **text).status, 201)
        self.assertIn("for alpha", self.notes(alpha))
        self.assertNotIn("for alpha", self.notes(beta))
        self.assertEqual(self.postgres.query("SELECT count(*) FROM notes", "shop"), "1")

        verified = self.hedge.contract("-C", alpha["workspace"]["path"], "verify")
        self.assertEqual((verified["status"], verified["exit_code"]), ("ready", 0))

        names = alpha["data"]["database"]
        self.assertLessEqual({names["app"], names["test"]}, self.databases())
        destroyed = self.hedge.contract("-C", self.repository, "destroy", ALPHA)
        self.assertEqual(destroyed["status"], "destroyed")
        self.assertFalse(Path(alpha["workspace"]["path"]).exists())
        self.assertFalse({names["app"], names["test"]} & self.databases())
        self.assertEqual(self.postgres.query(f"SELECT count(*) FROM pg_roles WHERE rolname = '{names['app']}'"), "0")
        running = self.docker.run("ps", "-a", "--format", "{{.Names}}").split()
        self.assertEqual(len([name for name in running if "beta" in name]), 1, running)
        self.assertFalse([name for name in running if "alpha" in name])
        self.assertEqual(self.ask(alpha, "/whoami").error, "route_unknown")
        self.assertEqual(self.ask(beta, "/whoami").status, 200)

    def unique_aliases(self, compose: Path) -> None:
        self.start(compose)
        contracts = [self.create(ALPHA), self.create(BETA)]
        containers = self.docker.run("ps", "-q", "--filter", f"network={NETWORK}").split()
        self.assertEqual(len(containers), 2)
        aliases = []
        for container in containers:
            details = self.docker.inspect(container)
            aliases += set(details["NetworkSettings"]["Networks"][NETWORK]["Aliases"] or [])
        self.assertEqual(len(aliases), len(set(aliases)), aliases)
        self.assertNotIn("app", aliases)
        with self.assertRaises(RuntimeError, msg="the bare service name resolves on the shared network"):
            self.docker.run("run", "--rm", "--network", NETWORK, "shop", "getent", "hosts", "app")
        for contract, other in (contracts, contracts[::-1]):
            slug = contract["workspace"]["slug"]
            answers = {self.ask(contract, "/whoami").json()["worktree"] for _ in range(50)}
            self.assertEqual(answers, {slug}, f"never {other['workspace']['slug']}")

    def recreated(self, compose: Path) -> None:
        """E-02 for a stack of ours: what `docker compose up` recreates is found at its new address."""
        self.start(compose)
        alpha = self.create(ALPHA)
        self.hedge.run("-C", alpha["workspace"]["path"], "down")
        self.assertEqual(self.ask(alpha, "/whoami").status, 502)
        self.docker.run("run", "-d", "--name", "filler", "--network", NETWORK, "shop", "sleep", "600")
        self.hedge.run("-C", alpha["workspace"]["path"], "up")
        self.assertEqual(self.ask(alpha, "/whoami").json()["worktree"], alpha["workspace"]["slug"])

    def effective_environment(self, compose: Path) -> None:
        """What `env` prints, `run` has inside the container, and the database there is the worktree's own."""
        self.start(compose)
        alpha = self.create(ALPHA)
        path = alpha["workspace"]["path"]
        self.assertEqual(self.check(alpha, "env.effective")["status"], "pass")
        variables = json.loads(self.hedge.run("-C", path, "env", "--json").stdout)
        names = alpha["data"]["database"]
        self.assertTrue(variables["DATABASE_URL"].endswith("/" + names["app"]), names)
        self.assertTrue(variables["TEST_DATABASE_URL"].endswith("/" + names["test"]), names)
        inside = self.hedge.run("-C", path, "run", "-s", "app", "--", "/usr/bin/env").stdout.splitlines()
        for name, value in variables.items():
            self.assertIn(f"{name}={value}", inside)
        self.hedge.run("-C", path, "run", "-s", "app", "--", "/usr/bin/python3", "-m", "shop", "migrate", "--check")
        self._trusts_the_edge_beside_the_public_roots(path)

        config = Path(path) / "hedge.toml"
        config.write_text(config.read_text("utf-8").replace("[env.variables]", '[env.variables]\nADDED = "later"'), "utf-8")
        told = self.hedge.contract("-C", path, "verify", expect=3)
        self.assertEqual(self.check(told, "stack.running")["status"], "fail", "it was started without that variable")
        self.assertEqual(self.hedge.contract("-C", path, "create")["status"], "ready")
        self.assertEqual(self.hedge.run("-C", path, "run", "-s", "app", "--", "/usr/bin/printenv", "ADDED").stdout, "later\n")

        self._replace_container(DATABASE_URL="postgresql://another")
        told = self.hedge.contract("-C", path, "verify", expect=3)
        self.assertEqual(self.check(told, "env.effective")["error"], "env_not_effective", told)
        self.assertNotIn("postgresql://another", json.dumps(told), "only the variable is named")

    def _trusts_the_edge_beside_the_public_roots(self, path: str) -> None:
        """T-20: a Python in the container has this machine's public roots and ours, and cannot change the file."""
        script = "import ssl; print([dict(x[0] for x in c['subject']).get('commonName') for c in ssl.create_default_context().get_ca_certs()])"
        told = self.hedge.run("-C", path, "run", "-s", "app", "--", "/usr/bin/python3", "-c", script).stdout
        public = Path("/etc/ssl/certs/ca-certificates.crt").read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
        names = ast.literal_eval(told)
        self.assertEqual(len(names), public + 1)
        self.assertIn(self.hedge.contract("ca", "export")["root"]["name"], names)
        trust = self.hedge.state / "trust"
        denied = self.hedge.run("-C", path, "run", "-s", "app", "--", "/usr/bin/touch", trust / "root.crt", expect=None)
        self.assertIn("Read-only file system", denied.stderr)

    def _replace_container(self, **environment: str) -> None:
        """In the place of the one container stands another, with its labels and with other variables."""
        identity = self.docker.run("ps", "-q").strip()
        labels = self.docker.inspect(identity)["Config"]["Labels"]
        self.docker.run("rm", "-f", identity)
        options = [f"--label={name}={value}" for name, value in labels.items()]
        options += [f"--env={name}={value}" for name, value in environment.items()]
        self.docker.run("run", "-d", "--network", NETWORK, *options, "shop", "sleep", "600")

    @staticmethod
    def check(contract: dict, name: str) -> dict:
        return next(check for check in contract["checks"] if check["id"] == name)


class ComposeV1(ComposeWorld):
    def test_two_worktrees_live_and_end_side_by_side(self):
        self.whole_job(compose_tools.v1())

    def test_E04_two_stacks_with_the_same_service_name_share_no_alias(self):
        self.unique_aliases(compose_tools.v1())

    def test_E02_a_stack_that_went_down_and_up_answers_at_its_new_address(self):
        self.recreated(compose_tools.v1())


class ComposeV2(ComposeWorld):
    def test_D19_the_environment_that_is_told_is_what_the_container_has(self):
        self.effective_environment(compose_tools.v2())

    def test_two_worktrees_live_and_end_side_by_side(self):
        self.whole_job(compose_tools.v2())

    def test_E04_two_stacks_with_the_same_service_name_share_no_alias(self):
        self.unique_aliases(compose_tools.v2())

    def test_E02_a_stack_that_went_down_and_up_answers_at_its_new_address(self):
        self.recreated(compose_tools.v2())


if __name__ == "__main__":
    unittest.main()
