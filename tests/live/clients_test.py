"""The programs that people use, against the edge: what they trust, what they refuse, and what the stores say."""

import os
import subprocess
import tempfile
import unittest
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from support import bounded_wait, faked_clock, tls_clients
from support.hedge_program import HedgeProgram
from support.private_world import require_programs
from support.small_app import SmallApp

TRUSTED, WILDCARD, FOREIGN = "alpha.dev.localhost", "below.beta.dev.localhost", "www.example.com"
STORES = (Path("/usr/local/share/ca-certificates"), Path("/etc/ssl/certs"))


def prepare() -> None:
    require_programs("curl", "openssl", "node", "java", "javac", "keytool", "git", "gnutls-cli", "chromium", "firefox-esr", "certutil")
    faked_clock.require()


class ClientsWorld(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-clients-")))
        self.hedge = HedgeProgram(self.directory)
        self.addCleanup(self.hedge.stop_edge)
        self._copy_stores()
        self._know_names()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.profile = tls_clients.firefox_profile(self.hedge.home)

    def _mount(self, what: Path, where: Path) -> None:
        subprocess.run(["mount", "--bind", what, where], check=True, timeout=30)
        self.addCleanup(subprocess.run, ["umount", where], check=True, timeout=30)

    def _copy_stores(self) -> None:
        """The system's stores, with Java's, may be changed here: these are copies."""
        copies = self.directory / "stores"
        copies.mkdir()
        for store in STORES:
            subprocess.run(["cp", "-a", store, copies], check=True, timeout=60)
            self._mount(copies / store.name, store)

    def _know_names(self) -> None:
        """What a browser knows by itself of *.localhost, every program learns here."""
        hosts = self.directory / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {TRUSTED} {WILDCARD} {FOREIGN} git.{TRUSTED} git.{WILDCARD}\n")
        self._mount(hosts, Path("/etc/hosts"))

    def url(self, host: str) -> str:
        return f"https://{host}:{self.hedge.https_port}/"

    def add_routes(self) -> None:
        upstream = f"tcp:127.0.0.1:{self.app.port}"
        self.hedge.run("route", "add", TRUSTED, upstream)
        self.hedge.run("route", "add", "beta.dev.localhost", upstream, "--wildcard")
        # The CA's own intermediate signs for it, as a thief of its key would.
        self.hedge.run("route", "add", FOREIGN, upstream)

    def serve_repository(self, *hosts: str) -> None:
        bare = tls_clients.static_git_repository(self.directory)

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(bare.parent)))
        Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        for host in hosts:
            self.hedge.run("route", "add", host, f"tcp:127.0.0.1:{server.server_port}")

    def clients(self, **variables: str) -> tls_clients.Clients:
        inherited = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
        return tls_clients.Clients(self.directory, {**inherited, "HOME": str(self.hedge.home), **variables}, "hello")

    def trust_variables(self) -> dict[str, str]:
        """Those that a worktree gets; the names and places are what its environment file is checked for elsewhere."""
        trust = self.hedge.state / "trust"
        bundle = str(trust / "bundle.crt")
        return {"NODE_EXTRA_CA_CERTS": str(trust / "root.crt"), "SSL_CERT_FILE": bundle, "REQUESTS_CA_BUNDLE": bundle,
                "CURL_CA_BUNDLE": bundle, "GIT_SSL_CAINFO": bundle,
                "JAVA_TOOL_OPTIONS": f"-Djavax.net.ssl.trustStore={trust / 'java.p12'}"}

    def leaf(self, host: str) -> str:
        """The serial number and the end of what the edge shows."""
        shown = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", host],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False).stdout
        return subprocess.run(["openssl", "x509", "-noout", "-serial", "-enddate"], input=shown, capture_output=True, text=True,
                              timeout=30, check=True).stdout


class Matrix(ClientsWorld):
    def in_both_ways(self, *names: str) -> dict:
        """Programs that read the system's store, and also what the variables of a worktree name."""
        rows = {f"{name} (store)": getattr(self.clients(), name) for name in names}
        return rows | {f"{name} (variables)": getattr(self.clients(**self.trust_variables()), name) for name in names}

    def address(self, client: str, host: str) -> str:
        if not client.startswith("git"):
            return self.url(host)
        return self.url(f"git.{host}" if host != FOREIGN else host) + "repo.git"

    def test_T05_T13_T17_T20_programs_trust_our_names_and_no_other_and_follow_a_renewal(self):
        told = self.clients(**self.trust_variables())
        self.check({**self.in_both_ways("curl", "python", "git"), "openssl (store)": self.clients().openssl,
                    "gnutls (store)": self.clients().gnutls, "node_https (variables)": told.node_https,
                    "node_fetch (variables)": told.node_fetch})

    def test_T05_T13_T17_T20_java_trusts_our_names_and_no_other_and_follows_a_renewal(self):
        self.check(self.in_both_ways("java"))

    def test_T05_T13_T17_T18_browsers_trust_our_names_and_no_other_and_follow_a_renewal(self):
        self.check({"chromium (NSS)": self.clients().chromium,
                    "firefox (profile)": partial(self.clients().firefox, profile=self.profile)})

    def check(self, rows: dict) -> None:
        # What is minted then still serves today, but has less than a third of its life left.
        clock = faked_clock.FakedClock(self.directory, "-25d")
        real = self.hedge.environment
        self.hedge.environment = {**real, **clock.environment}
        self.hedge.run("ca", "init")
        self.hedge.start_edge()
        self.hedge.environment = real
        self.add_routes()
        self.serve_repository(f"git.{TRUSTED}", f"git.{WILDCARD}")
        self.hedge.run("ca", "trust")

        table = {client: [ask(self.address(client, host)) for host in (TRUSTED, FOREIGN, WILDCARD)]
                 for client, ask in rows.items()}
        old = self.leaf(TRUSTED)
        clock.jump("+0")
        bounded_wait.until(lambda: self.leaf(TRUSTED) != old, 20, "the leaf is renewed while the edge runs")
        for client, ask in rows.items():
            table[client].append(ask(self.address(client, TRUSTED)))
        self.show(table)
        for client, (trusted, foreign, wildcard, renewed) in table.items():
            with self.subTest(client=client):
                self.assertTrue(trusted.answered, trusted.detail)
                self.assertFalse(foreign.answered, "it must refuse what the CA may not sign for")
                self.assertTrue(wildcard.answered, wildcard.detail)
                self.assertTrue(renewed.answered, renewed.detail)

    def show(self, table: dict) -> None:
        widths = (24, 9, 26, 10, 12)
        head = ("client", "trusted", "name-constrained refusal", "wildcard", "renewed leaf")
        print("".join(text.ljust(width) for text, width in zip(head, widths)))
        for client, outcomes in table.items():
            words = ["yes" if outcome.answered else "no" for outcome in outcomes]
            words[1] = "no" if outcomes[1].answered else "yes"
            print("".join(text.ljust(width) for text, width in zip((client, *words), widths)))


class Stores(ClientsWorld):
    def statuses(self, verb: str, expect: int = 0) -> dict[str, str]:
        told = self.hedge.contract("ca", verb, expect=expect)
        return {store["store"]: store["status"] for store in told["stores"]}

    def test_T04_T18_T20_every_store_is_trusted_told_and_given_back(self):
        statuses = self.statuses("trust")
        # Debian's hook may have put what update-ca-certificates added into Java's store already.
        self.assertIn(statuses.pop("java"), ("installed", "trusted"))
        self.assertEqual(statuses, {"system": "installed", "nss": "installed", "firefox": "installed"})
        told = self.hedge.contract("ca", "status")
        self.assertEqual({store["status"] for store in told["stores"]}, {"trusted"}, told)
        self.assertEqual({store["fingerprint"] for store in told["stores"]}, {told["root"]["fingerprint"]})
        self.hedge.start_edge()
        self.add_routes()
        for ask in (self.clients().java, self.clients().chromium, partial(self.clients().firefox, profile=self.profile)):
            outcome = ask(self.url(TRUSTED))
            self.assertTrue(outcome.answered, outcome.detail)
        self.assertEqual(set(self.statuses("untrust").values()), {"removed"})
        outcome = self.clients().java(self.url(TRUSTED))
        self.assertFalse(outcome.answered, "Java has forgotten it")

    def test_T18_chromium_trusts_through_the_old_place_the_new_place_and_both(self):
        self.hedge.start_edge()
        self.add_routes()
        for places in ((), (".pki/nssdb",), (".local/share/pki/nssdb",), (".pki/nssdb", ".local/share/pki/nssdb")):
            home = self.directory / f"home-{len(list(self.directory.iterdir()))}"
            for place in places:
                (home / place).mkdir(parents=True)
                subprocess.run(["certutil", "-N", "--empty-password", "-d", f"sql:{home / place}"], check=True, timeout=30)
            home.mkdir(exist_ok=True)
            real = self.hedge.environment
            self.hedge.environment = {**real, "HOME": str(home)}
            self.hedge.run("ca", "trust", "--store", "nss")
            self.hedge.environment = real
            with self.subTest(places=places):
                outcome = self.clients(HOME=str(home)).chromium(self.url(TRUSTED))
                self.assertTrue(outcome.answered, outcome.detail)

    def test_T09_no_client_fails_while_the_root_is_replaced(self):
        self.hedge.start_edge()
        self.add_routes()
        self.hedge.run("ca", "trust")
        before = self.hedge.contract("ca", "export")["root"]["fingerprint"]
        self.assertTrue(self.clients().curl(self.url(TRUSTED)).answered)
        rotation = subprocess.Popen([self.hedge.binary, "ca", "rotate", "--json"], env=self.hedge.environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        asked = 0
        while rotation.poll() is None:
            outcome = self.clients().curl(self.url(TRUSTED))
            self.assertTrue(outcome.answered, outcome.detail)
            asked += 1
        out, err = rotation.communicate(timeout=60)
        self.assertEqual(rotation.returncode, 0, out + err)
        self.assertGreater(asked, 0)
        told = self.hedge.contract("ca", "status")
        self.assertNotEqual(told["root"]["fingerprint"], before)
        self.assertEqual({store["fingerprint"] for store in told["stores"]}, {told["root"]["fingerprint"]})
        for ask in (self.clients().curl, self.clients().java, self.clients().chromium,
                    partial(self.clients().firefox, profile=self.profile), self.clients(**self.trust_variables()).node_fetch):
            outcome = ask(self.url(TRUSTED))
            self.assertTrue(outcome.answered, outcome.detail)


class Posture(ClientsWorld):
    def test_testssl_finds_nothing_worse_than_what_a_private_root_explains(self):
        require_programs("testssl")
        self.hedge.start_edge()
        self.add_routes()
        self.hedge.run("ca", "trust", "--store", "system")
        report = self.directory / "report.csv"
        subprocess.run(["testssl", "--quiet", "--warnings", "off", "--color", "0", "--ip", "127.0.0.1", "--csvfile", report,
                        "--add-ca", self.hedge.state / "trust/root.crt", f"{TRUSTED}:{self.hedge.https_port}"],
                       env={**os.environ, "HOME": str(self.hedge.home)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=280, check=False)
        lines = [line.split('","') for line in report.read_text().splitlines()[1:]]
        found = {(fields[0].strip('"'), fields[3]): fields[4] for fields in lines}
        self.assertGreater(len(found), 60, found)
        # No public log, no revocation and no public root: that is what a private one is. Leaves end within 30 days by
        # design, and the headers are the application's.
        explained = {"cert_chain_of_trust", "cert_revocation", "cert_crlDistributionPoints", "cert_ocspURL", "DNS_CAArecord",
                     "certificate_transparency", "HSTS", "cert_expirationStatus", "cert_notAfter", "overall_grade",
                     "engine_problem", "scanTime", "security_headers"}
        worse = {key: text for key, text in found.items()
                 if key[1] in ("LOW", "MEDIUM", "HIGH", "CRITICAL") and not any(key[0].startswith(name) for name in explained)}
        self.assertEqual(worse, {})
        for old in ("SSLv2", "SSLv3", "TLS1", "TLS1_1"):
            self.assertIn("not offered", next(text for key, text in found.items() if key[0] == old))
        for name in ("TLS1_2", "TLS1_3"):
            self.assertIn("offered", next(text for key, text in found.items() if key[0] == name))


if __name__ == "__main__":
    unittest.main()
