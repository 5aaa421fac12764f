"""The local CA from outside: its files, its clients, and what it gets from openssl.cnf, kill and sudo."""

import itertools
import os
import pwd
import random
import shutil
import signal
import stat
import subprocess
import time
import unittest
from pathlib import Path

from program_world import NOBODY, ProgramWorld, prepare

__all__ = ["prepare", "Authority", "Remedies", "Invoked"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class Authority(ProgramWorld):
    @property
    def ca(self) -> Path:
        return self.hedge.state / "ca"

    def public_key(self, command: str, file: Path) -> str:
        return self.openssl(command, "-in", file, *(("-noout", "-pubkey") if command == "x509" else ("-pubout",))).stdout

    def require_matching_pairs(self) -> None:
        self.assertEqual(self.public_key("x509", self.ca / "root.crt"), self.public_key("pkey", self.ca / "root.key"))
        pair = self.ca / "intermediate.pem"
        self.assertEqual(self.public_key("x509", pair), self.public_key("pkey", pair))

    def test_init_twice_is_one_ca_with_private_keys(self):
        first = self.json("ca", "init")
        second = self.json("ca", "init")
        self.assertEqual(first["root"], second["root"])
        self.assertEqual(mode(self.ca), 0o700)
        self.assertEqual(mode(self.ca / "root.key"), 0o400)
        self.assertEqual(mode(self.ca / "intermediate.pem"), 0o600)
        self.require_matching_pairs()

    def test_export_gives_only_the_root(self):
        self.hedge.run("ca", "init")
        exported = self.hedge.run("ca", "export").stdout
        self.assertEqual(exported.count("BEGIN"), 1)
        self.assertEqual(exported, (self.ca / "root.crt").read_text())
        shown = self.openssl("x509", "-noout", "-fingerprint", "-sha256", text=exported).stdout
        self.assertEqual(shown.split("=")[1].strip().replace(":", "").lower(), self.json("ca", "export")["root"]["fingerprint"])

    def test_without_a_ca_export_and_status_say_what_to_run(self):
        for verb in ("export", "status"):
            done = self.refused("ca_missing", "ca", verb, expect=3)
            self.assertIn("hedge ca init", done.stderr)
        self.assertFalse(self.ca.exists(), "asking makes nothing")

    def test_T10_twenty_parallel_inits_make_one_ca(self):
        running = [
            subprocess.Popen([self.hedge.binary, "ca", "init", "--json"], env=self.hedge.environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(20)
        ]
        answers = [process.communicate(timeout=60) for process in running]
        self.assertEqual([process.returncode for process in running], [0] * 20, answers)
        self.assertEqual(len({out for out, _ in answers}), 1)
        self.require_matching_pairs()

    def test_T10_killed_at_random_moments_the_ca_is_absent_or_whole(self):
        moments = random.Random(20261129)
        for number in range(100):
            self.hedge.environment["HEDGE_STATE_DIR"] = str(self.directory / f"state-{number}")
            self.hedge.state = self.directory / f"state-{number}"
            process = subprocess.Popen([self.hedge.binary, "ca", "init"], env=self.hedge.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moments.uniform(0, 0.03))  # the moment of the kill, not a wait for anything
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            if self.ca.exists():
                self.require_matching_pairs()
            self.hedge.run("ca", "init")
            self.require_matching_pairs()

    def test_T12_openssl_configuration_changes_nothing(self):
        broken = self.directory / "openssl.cnf"
        broken.write_text(
            "openssl_conf = start\n[start]\nproviders = p\nalg_section = a\n[p]\nlegacy = l\n[l]\nactivate = 1\n"
            "[a]\ndefault_properties = fips=yes\n[req]\nx509_extensions = v3_ca\n[v3_ca]\nbasicConstraints = critical,CA:true\n")
        for number, configuration in enumerate((broken, self.directory / "missing.cnf")):
            self.hedge.environment["OPENSSL_CONF"] = str(configuration)
            self.hedge.environment["HEDGE_STATE_DIR"] = str(self.directory / f"with-{number}")
            root = self.hedge.run("ca", "init", "--json") and self.hedge.run("ca", "export").stdout
            text = self.openssl("x509", "-noout", "-text", text=root).stdout
            for extension in ("Basic Constraints: critical", "Key Usage: critical", "Name Constraints: critical",
                              "Subject Key Identifier"):
                self.assertEqual(text.count(f"X509v3 {extension}"), 1, text)
            self.assertIn("CA:TRUE, pathlen:1", text)

    def test_T20_the_files_of_trust_follow_the_ca_whoever_makes_it(self):
        for verb in (("ca", "init"), ("ca", "trust", "--store", "nss"), ("ca", "init")):
            shutil.rmtree(self.ca, ignore_errors=True)
            self.hedge.run(*verb)
            self.assertEqual((self.hedge.state / "trust/root.crt").read_text(), (self.ca / "root.crt").read_text())
            self.assertTrue((self.hedge.state / "trust/bundle.crt").read_text().endswith((self.ca / "root.crt").read_text()))

    def test_T10_a_mixed_pair_is_refused_by_id_and_left_alone(self):
        self.hedge.run("ca", "init")
        other = self.directory / "other"
        self.hedge.run("--state-dir", other, "ca", "init")
        shutil.copyfile(other / "ca/intermediate.pem", self.ca / "intermediate.pem")
        before = (self.ca / "intermediate.pem").read_bytes()
        for verb in ("init", "status", "trust"):
            self.refused("ca_invalid", "ca", verb, expect=6)
        self.assertEqual((self.ca / "intermediate.pem").read_bytes(), before)

    def test_a_full_disk_leaves_no_half_ca(self):
        small = self.directory / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=5", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.hedge.environment["HEDGE_STATE_DIR"] = str(small)
        self.refused("disk_full", "ca", "init", expect=1)
        self.assertFalse((small / "ca").exists())
        self.assertEqual([name for name in os.listdir(small) if name.startswith(".ca-new")], [])

    def test_the_settings_domains_are_in_the_root_and_later_ones_are_missed(self):
        settings = self.hedge.home / ".config/hedge/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('[edge]\nsuffixes = ["localhost", "dev.example"]\n')
        told = self.json("ca", "init")
        self.assertEqual(told["root"]["permitted_suffixes"], ["localhost", "test", "internal", "dev.example"])
        self.assertEqual(told["warnings"], [])
        settings.write_text('[edge]\nsuffixes = ["localhost", "later.example"]\n')
        (warning,) = self.json("ca", "init")["warnings"]
        self.assertEqual(warning["id"], "ca_suffix_missing")
        self.assertIn("later.example", warning["text"])


    def test_keys_are_in_no_log_and_in_no_answer_and_a_crash_writes_no_core(self):
        self.hedge.start_edge('access_log = "-"')
        told = [self.hedge.run(*verb, expect=None) for verb in
                (("ca", "init"), ("ca", "init", "--json"), ("ca", "export"), ("ca", "status", "--json"), ("edge", "status", "--json"))]
        self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", "alpha.localhost", expect=None)
        pid = self.json("edge", "status")["pid"]
        limits = Path(f"/proc/{pid}/limits").read_text()
        core = next(line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size"))
        self.assertEqual(core, ["0", "0"])
        self.hedge.stop_edge()
        key = (self.ca / "root.key").read_text().splitlines()[1]
        own = (self.ca / "intermediate.pem").read_text().split("PRIVATE KEY-----")[1].split()[0]
        said = self.hedge.edge_log() + "".join(done.stdout + done.stderr for done in told)
        for part in ("PRIVATE KEY", key, own):
            self.assertNotIn(part, said)

    def test_a_directory_of_roots_is_named_with_the_command_that_gives_it_back(self):
        self.hedge.run("ca", "init")
        user = self.as_nobody()
        for path in (self.ca, *self.ca.iterdir()):
            os.chown(path, 0, 0)
        for verb in ("init", "status"):
            done = subprocess.run([self.hedge.binary, "ca", verb], env=self.hedge.environment, stdin=subprocess.DEVNULL, timeout=60,
                                  capture_output=True, text=True, check=False, cwd="/", **user)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("[state_unreadable]", done.stderr)
            self.assertIn(f"sudo chown -R {NOBODY} {self.ca}", done.stderr)

    def test_a_full_disk_fails_a_rotation_and_keeps_the_ca(self):
        small = self.directory / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.hedge.environment["HEDGE_STATE_DIR"] = str(small)
        before = self.json("ca", "init")["root"]["fingerprint"]
        filler = small / "filler"
        with open(filler, "wb", buffering=0) as file, self.assertRaisesRegex(OSError, "No space left"):
            while True:
                file.write(bytes(4096))
        self.refused("disk_full", "ca", "rotate", expect=1)
        self.assertEqual(self.json("ca", "export")["root"]["fingerprint"], before)
        filler.unlink()
        self.assertNotEqual(self.json("ca", "rotate")["root"]["fingerprint"], before)


class Remedies(ProgramWorld):
    def test_T21_every_command_that_an_error_recommends_is_one_that_there_is(self):
        lines = self.hedge.run("explain", "--markdown").stdout.splitlines()
        commands = {line for line in lines if line.startswith("hedge ")}
        self.assertGreater(len(commands), 10)
        for command in sorted(commands):
            words = command.split()[1:]
            verbs = list(itertools.takewhile(lambda word: word.isalpha() and word.islower(), words))
            options = [word for word in words if word.startswith("--")]
            with self.subTest(command):
                known = self.hedge.run(*verbs, "--help").stdout
                for option in options:
                    self.assertIn(option, known)


class Invoked(ProgramWorld):
    """Run by root on behalf of somebody else, as sudo does."""

    def sudo(self, *arguments, keep_home: bool) -> subprocess.CompletedProcess:
        environment = {**self.hedge.environment, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
        if not keep_home:
            environment["HOME"] = "/root"
        done = subprocess.run([self.hedge.binary, *arguments], env=environment, stdin=subprocess.DEVNULL, timeout=60,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def user(self, *arguments) -> subprocess.CompletedProcess:
        done = subprocess.run([self.hedge.binary, *arguments], env=self.hedge.environment, stdin=subprocess.DEVNULL,
                              timeout=60, capture_output=True, text=True, check=False, cwd="/", **self.as_user)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def require_nothing_of_roots(self) -> None:
        foreign = [str(path) for path in [self.directory, *self.directory.rglob("*")] if path.lstat().st_uid != NOBODY]
        self.assertEqual(foreign, [])

    def setUp(self):
        super().setUp()
        self.assertEqual(pwd.getpwuid(NOBODY).pw_name, "nobody")
        self.as_user = self.as_nobody()

    def test_T03_U01_one_ca_for_sudo_and_the_user_owned_by_the_user(self):
        as_root = self.sudo("ca", "init", "--json", keep_home=True).stdout
        self.require_nothing_of_roots()
        self.assertEqual(mode(self.hedge.state / "ca/root.key"), 0o400)
        self.assertEqual(self.user("ca", "init", "--json").stdout, as_root)

    def test_U01_a_route_added_by_sudo_can_be_changed_by_the_user(self):
        self.sudo("route", "add", "alpha.localhost", "9001", keep_home=False)
        self.require_nothing_of_roots()
        self.user("route", "add", "beta.localhost", "9002")
        self.assertIn("alpha.localhost", self.user("route", "ls").stdout)

    def test_U01_an_edge_started_by_sudo_is_the_users(self):
        self.sudo("edge", "start", "--http", "127.0.0.1:80", "--https", "off", keep_home=True)
        self.addCleanup(self.user, "edge", "stop")
        self.require_nothing_of_roots()
        status = self.json("edge", "status")
        owner = Path(f"/proc/{status['pid']}").stat
        lines = Path(f"/proc/{status['pid']}/status").read_text().splitlines()
        uids = next(line for line in lines if line.startswith("Uid:")).split()[1:]
        self.assertEqual(uids, [str(NOBODY)] * 4, owner)


if __name__ == "__main__":
    unittest.main()
