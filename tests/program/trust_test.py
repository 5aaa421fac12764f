"""Trust in the stores of this machine: real tools, temporary homes, never a question."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from program_world import NOBODY, ProgramWorld, prepare

__all__ = ["prepare", "Nss", "System", "Rotation"]


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
        # What this machine does not have is told too.
        stores = [store for store in told["stores"] if store["status"] != "skipped"]
        self.assertEqual({store["status"] for store in stores}, {"trusted"})
        self.assertEqual({store["fingerprint"] for store in stores}, {told["root"]["fingerprint"]})

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
        stores = {store["store"]: store for store in told["stores"]}
        system, nss = stores["system"], stores["nss"]
        self.assertEqual(system["status"], "needs_root")
        self.assertTrue(system["command"].startswith("sudo install "), system)
        self.assertEqual(nss["status"], "installed", "the user's own store needs nobody's help")
        # Java's store, where there is one, is root's as well.
        self.assertEqual({warning["id"] for warning in told["warnings"]}, {"needs_root"})
        # Each printed step is a command that works.
        for store in stores.values():
            if store["status"] == "needs_root":
                step = store["command"].replace("sudo ", "")
                subprocess.run(["sh", "-c", step], check=True, capture_output=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
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

    def test_U01_T03_through_sudo_each_store_is_changed_as_its_owner(self):
        self.as_nobody()
        sudo = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
        self.hedge.environment.update(sudo)
        stores = {store["store"]: store["status"] for store in self.json("ca", "trust")["stores"]}
        self.assertEqual((stores["system"], stores["nss"]), ("installed", "installed"))
        foreign = [str(path) for path in self.hedge.home.rglob("*") if path.lstat().st_uid != NOBODY]
        self.assertEqual(foreign, [])

    def test_T04_a_home_that_cannot_be_written_fails_that_store_alone(self):
        self.hedge.run("ca", "init")
        self.hedge.environment["PATH"] = f"{self.browser()}:{os.environ['PATH']}"
        subprocess.run(["mount", "--bind", "-o", "ro", self.hedge.home, self.hedge.home], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.hedge.home], check=True)
        self.addCleanup(subprocess.run, ["umount", self.hedge.home], check=True)
        stores = {store["store"]: store for store in self.json("ca", "trust", expect=1)["stores"]}
        self.assertEqual(stores["system"]["status"], "installed", "what can be done is done")
        self.assertEqual((stores["nss"]["status"], stores["nss"]["error"]), ("failed", "trust_failed"))
        self.assertIn("Read-only file system", stores["nss"]["detail"])

    def test_T03_without_a_home_the_users_stores_are_told_and_the_systems_is_changed(self):
        del self.hedge.environment["HOME"]
        told = self.json("ca", "trust")
        stores = {store["store"]: store for store in told["stores"]}
        self.assertEqual(stores["system"]["status"], "installed")
        for kind in ("nss", "firefox"):
            self.assertEqual((stores[kind]["status"], stores[kind]["detail"]), ("skipped", "there is no home directory"))

    def browser(self) -> Path:
        """A directory with something that is called like a browser: its database is then one that counts."""
        programs = self.directory / "programs"
        programs.mkdir()
        (programs / "chromium").write_text("#!/bin/sh\n")
        (programs / "chromium").chmod(0o755)
        return programs


class Rotation(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.private_system_store()
        self.bundle = Path("/etc/ssl/certs/ca-certificates.crt")
        self.public = self.bundle.read_text().count("BEGIN CERTIFICATE")
        self.hedge.run("ca", "trust", "--store", "system")
        self.before = self.root()

    def root(self) -> tuple[str, str]:
        told = self.json("ca", "export")["root"]
        return told["name"], told["fingerprint"]

    def roots(self) -> int:
        return self.bundle.read_text().count("BEGIN CERTIFICATE") - self.public

    def test_T09_T14_a_new_root_takes_the_place_of_the_old_one_in_the_edge_and_in_the_stores_that_had_it(self):
        self.hedge.start_edge()
        told = self.json("ca", "rotate")
        for old, new in zip(self.before, self.root()):
            self.assertNotEqual(old, new)
        stores = {store["store"]: store for store in told["stores"]}
        self.assertEqual(stores["system"]["status"], "installed", "the old one was taken out")
        self.assertEqual((stores["nss"]["status"], stores["nss"]["detail"]), ("skipped", "did not trust the root before"))
        self.assertFalse((self.hedge.home / ".pki").exists(), "a store that did not have it is left alone")
        self.assertEqual(self.roots(), 1)
        self.assertEqual(self.root()[1], told["root"]["fingerprint"])
        shown = self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", "alpha.localhost",
                             "-CAfile", self.bundle, "-verify_return_error", expect=None)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(sorted(path.name for path in self.hedge.state.glob("ca*")), ["ca", "ca.lock"])
        self.assertEqual((self.hedge.state / "trust/root.crt").read_text(), self.hedge.run("ca", "export").stdout)

    def test_T04_a_store_that_refuses_keeps_the_old_root_in_use_until_it_is_mended(self):
        anchors = "/usr/local/share/ca-certificates"
        subprocess.run(["mount", "-o", "remount,bind,ro", anchors], check=True)
        told = self.json("ca", "rotate", expect=1)
        self.assertEqual(self.root(), self.before)
        self.assertEqual({store["store"]: store["status"] for store in told["stores"]}["system"], "failed")
        # Programs that read the bundle trust both until it is over.
        self.assertEqual((self.hedge.state / "trust/root.crt").read_text().count("BEGIN"), 2)
        subprocess.run(["mount", "-o", "remount,bind,rw", anchors], check=True)
        self.json("ca", "rotate")
        self.assertNotEqual(self.root(), self.before)
        self.assertEqual(self.roots(), 1)

    def test_T10_killed_at_random_moments_there_is_always_a_whole_ca_that_the_store_trusts(self):
        moments = random.Random(20261129)
        for _ in range(8):
            process = subprocess.Popen([self.hedge.binary, "ca", "rotate"], env=self.hedge.environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(moments.uniform(0, 3))  # the moment of the kill, not a wait for anything
            process.kill()
            process.wait(10)
            self.hedge.run("ca", "init")
            verified = self.openssl("verify", "-CAfile", self.bundle, self.hedge.state / "ca/root.crt", expect=None)
            if verified.returncode != 0:
                # update-ca-certificates was killed half-way; what is run again puts it right.
                self.hedge.run("ca", "trust", "--store", "system")
        self.hedge.run("ca", "rotate")
        self.assertEqual(self.roots(), 1)
        self.openssl("verify", "-CAfile", self.bundle, self.hedge.state / "ca/root.crt")

    def test_T17_the_settings_domains_of_today_are_in_the_new_root(self):
        settings = self.hedge.home / ".config/hedge/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('[edge]\nsuffixes = ["localhost", "later.example"]\n')
        (warning,) = self.json("ca", "init")["warnings"]
        self.assertEqual((warning["id"], warning["remediation"]["command"]), ("ca_suffix_missing", "hedge ca rotate"))
        self.assertIn("later.example", self.json("ca", "rotate")["root"]["permitted_suffixes"])
        self.assertEqual(self.json("ca", "init")["warnings"], [])

    def test_without_a_ca_there_is_nothing_to_replace(self):
        shutil.rmtree(self.hedge.state / "ca")
        self.refused("ca_missing", "ca", "rotate", expect=3)


if __name__ == "__main__":
    unittest.main()
