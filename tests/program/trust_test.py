"""Trust in the stores of this machine: real tools, temporary homes, never a question."""

import json
import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare

__all__ = ["prepare", "Nss", "System"]


class Nss(ProgramWorld):
    def certutil(self, database: Path, *arguments, check: bool = True) -> subprocess.CompletedProcess:
        return subprocess.run(["certutil", "-d", f"sql:{database}", *arguments], capture_output=True, text=True, check=check)

    def make(self, database: Path) -> Path:
        database.mkdir(parents=True)
        self.certutil(database, "-N", "--empty-password")
        return database

    def trust(self, expect: int = 0) -> list[dict]:
        return self.json("ca", "trust", "--store", "nss", expect=expect)["stores"]

    def test_T18_T21_a_fresh_home_gets_a_ca_and_the_database_that_chromium_reads(self):
        (store,) = self.trust()
        self.assertEqual(store["status"], "installed")
        self.assertEqual(store["place"], str(self.hedge.home / ".pki/nssdb"))
        self.assertEqual(store["fingerprint"], self.json("ca", "export")["root"]["fingerprint"])
        self.assertEqual([again["status"] for again in self.trust()], ["trusted"])

    def test_T18_only_the_new_place_both_places_and_the_data_directory(self):
        new = self.make(self.hedge.home / ".local/share/pki/nssdb")
        self.assertEqual([(store["place"], store["status"]) for store in self.trust()], [(str(new), "installed")])
        self.assertFalse((self.hedge.home / ".pki").exists(), "it would make Chromium leave the new place")
        old = self.make(self.hedge.home / ".pki/nssdb")
        self.assertEqual([(store["place"], store["status"]) for store in self.trust()],
                         [(str(old), "installed"), (str(new), "trusted")])
        data = self.make(self.directory / "data/pki/nssdb")
        self.hedge.environment["XDG_DATA_HOME"] = str(self.directory / "data")
        self.assertEqual([store["place"] for store in self.trust()], [str(old), str(data)])

    def test_T09_a_new_ca_replaces_the_old_one_and_untrust_takes_ours_alone(self):
        database = self.make(self.hedge.home / ".pki/nssdb")
        foreign = self.directory / "foreign.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        os.devnull, "-out", foreign, "-subj", "/CN=Company", "-days", "9"], check=True, capture_output=True)
        self.certutil(database, "-A", "-t", "C,,", "-n", "Company", "-i", str(foreign))
        self.trust()
        first = self.json("ca", "export")["root"]
        shutil.rmtree(self.hedge.state / "ca")
        (store,) = self.trust()
        second = self.json("ca", "export")["root"]
        self.assertNotEqual(first["name"], second["name"])
        self.assertEqual((store["status"], store["fingerprint"]), ("installed", second["fingerprint"]))
        listing = self.certutil(database, "-L").stdout
        self.assertEqual(listing.count("Hedge local CA"), 1, listing)
        (removed,) = self.json("ca", "untrust", "--store", "nss")["stores"]
        self.assertEqual(removed["status"], "removed")
        listing = self.certutil(database, "-L").stdout
        self.assertNotIn("Hedge", listing)
        self.assertIn("Company", listing)

    def test_T04_without_certutil_the_package_is_named_and_nothing_is_claimed(self):
        (self.hedge.home / ".pki/nssdb").mkdir(parents=True)
        self.make(self.directory / "made")
        shutil.copytree(self.directory / "made", self.hedge.home / ".pki/nssdb", dirs_exist_ok=True)
        self.hedge.environment["PATH"] = str(self.directory)
        (store,) = self.trust(expect=1)
        self.assertEqual((store["status"], store["error"]), ("failed", "missing_tool"))
        self.assertIn("libnss3-tools", store["command"])

    def test_T01_a_database_with_a_password_fails_at_once_instead_of_asking(self):
        database = self.hedge.home / ".pki/nssdb"
        database.mkdir(parents=True)
        secret = self.directory / "password"
        secret.write_text("correct horse\n")
        self.certutil(database, "-N", "-f", str(secret))
        began = time.monotonic()
        # script gives the program a terminal, where certutil would ask.
        done = subprocess.run(["script", "-qec", f"{self.hedge.binary} ca trust --store nss --json", os.devnull],
                              env=self.hedge.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertNotIn("assword", done.stdout.replace("password", ""), "nothing was asked")
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn('"store":"nss"', done.stdout)


class System(ProgramWorld):
    BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")

    def setUp(self):
        super().setUp()
        self.private_system_store()

    def system(self, verb: str, expect: int = 0) -> dict:
        (store,) = self.json("ca", verb, "--store", "system", expect=expect)["stores"]
        return store

    def roots(self) -> int:
        return self.BUNDLE.read_text().count("BEGIN CERTIFICATE")

    def test_T21_trust_on_a_fresh_machine_reaches_every_client_and_untrust_leaves_no_trace(self):
        before = self.roots()
        self.assertEqual(self.system("trust")["status"], "installed")
        self.assertEqual(self.roots(), before + 1)
        self.assertEqual(self.system("trust")["status"], "trusted")
        self.hedge.start_edge()
        self.hedge.run("route", "add", "alpha.dev.localhost", "tcp:127.0.0.1:1")
        address = f"https://alpha.dev.localhost:{self.hedge.https_port}/"
        resolve = f"alpha.dev.localhost:{self.hedge.https_port}:127.0.0.1"
        done = subprocess.run(["curl", "-sS", "-o", os.devnull, "-w", "%{http_code}", "--resolve", resolve, address],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "502"), done.stderr)
        self.assertEqual(self.system("untrust")["status"], "removed")
        self.assertEqual(self.roots(), before)
        done = subprocess.run(["curl", "-sS", "--resolve", resolve, address], capture_output=True, text=True, timeout=30,
                              check=False)
        self.assertEqual(done.returncode, 60, "curl: the certificate cannot be verified")

    def test_T09_the_store_holds_only_the_new_root(self):
        before = self.roots()
        first = self.system("trust")["fingerprint"]
        shutil.rmtree(self.hedge.state / "ca")
        second = self.system("trust")
        self.assertEqual(second["status"], "installed")
        self.assertNotEqual(first, second["fingerprint"])
        self.assertEqual(self.roots(), before + 1)

    def test_status_compares_fingerprints_store_by_store(self):
        self.hedge.run("ca", "init")
        told = self.json("ca", "status", expect=3)
        self.assertFalse(told["ok"])
        self.assertEqual(told["stores"][0]["status"], "absent")
        self.hedge.run("ca", "trust")
        told = self.json("ca", "status")
        self.assertTrue(told["ok"])
        self.assertEqual({store["status"] for store in told["stores"]}, {"trusted"})
        self.assertEqual({store["fingerprint"] for store in told["stores"]}, {told["root"]["fingerprint"]})

    def test_T01_without_rights_it_prints_the_step_and_never_waits_for_a_password(self):
        stubs = self.directory / "stubs"
        stubs.mkdir()
        sudo = stubs / "sudo"
        sudo.write_text('#!/bin/sh\ncase "$1" in -n) echo "sudo: a password is required" >&2; exit 1;; *) exec sleep 600;; esac\n')
        sudo.chmod(0o755)
        self.hedge.environment["PATH"] = f"{stubs}:{os.environ['PATH']}"
        user = self.as_nobody()
        began = time.monotonic()
        done = subprocess.run(["setsid", "-w", "timeout", "20", self.hedge.binary, "ca", "trust", "--json"], cwd="/",
                              env=self.hedge.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False, **user)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertLess(time.monotonic() - began, 19, "it ended by itself")
        told = json.loads(done.stdout)
        system, nss = told["stores"]
        self.assertEqual(system["status"], "needs_root")
        self.assertTrue(system["command"].startswith("sudo install "), system)
        self.assertEqual(nss["status"], "installed", "the user's own store needs nobody's help")
        (warning,) = told["warnings"]
        self.assertEqual(warning["id"], "needs_root")
        # The printed step is a command that works.
        subprocess.run(["sh", "-c", system["command"].replace("sudo ", "")], check=True, capture_output=True, timeout=60)
        self.assertEqual(self.json("ca", "status")["stores"][0]["status"], "trusted")

    def test_T04_a_store_that_cannot_be_written_fails_and_says_why(self):
        subprocess.run(["mount", "-o", "remount,bind,ro", "/usr/local/share/ca-certificates"], check=True)
        store = self.system("trust", expect=1)
        self.assertEqual((store["status"], store["error"]), ("failed", "trust_failed"))
        self.assertIn("Read-only file system", store["detail"])

    def test_print_changes_nothing_and_prints_every_step(self):
        before = self.roots()
        steps = self.json("ca", "trust", "--print")["steps"]
        self.assertTrue(any(step.startswith("sudo install ") for step in steps), steps)
        self.assertTrue(any(step.startswith("certutil -A ") for step in steps), steps)
        self.assertEqual(self.hedge.run("ca", "trust", "--print").stdout.splitlines(), steps)
        self.assertEqual(self.roots(), before)
        self.assertFalse((self.hedge.home / ".pki").exists())


if __name__ == "__main__":
    unittest.main()
