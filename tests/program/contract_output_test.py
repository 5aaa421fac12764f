"""One object on standard output in every outcome, whatever the surroundings."""

import json
import os
import pwd
import signal
import subprocess
from pathlib import Path

from shop_world import ShopWorld, prepare
from support import bounded_wait

__all__ = ["prepare", "ContractOutput"]

VERBS = (["create", "feature/login"], ["verify"], ["destroy", "feature/login"])


def slow_command(seconds: int) -> str:
    return f'["sh", "-c", "echo noise; echo more >&2; sleep {seconds}"]'


class ContractOutput(ShopWorld):
    def one_object(self, done: subprocess.CompletedProcess) -> dict:
        """K-01: exactly one JSON document and a newline, and an exit code that it tells itself."""
        self.assertTrue(done.stdout.endswith("\n"), done)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        told = json.loads(done.stdout)
        self.assertEqual(told["schema"], "hedge.contract/1")
        self.assertEqual((told["exit_code"], told["ok"]), (done.returncode, done.returncode == 0))
        return told

    def run_plain(self, *arguments, **options) -> subprocess.CompletedProcess:
        """Without --json: a pipe is not a person."""
        return subprocess.run([self.hedge.binary, *arguments], **{
            "cwd": self.main, "env": self.hedge.environment, "text": True, "timeout": 120, "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def test_K01_a_signal_ends_the_commands_of_a_create_with_their_children(self):
        self.without_stack()
        place = self.directory / "grandchild"
        inner = f"echo $$ > {place}.new; mv {place}.new {place}; exec sleep 1000"
        (self.main / "hedge.toml").open("a", encoding="utf-8").write(
            f'[commands]\ninstall = ["sh", "-c", "sh -c \'{inner}\'; echo never"]\n')
        self.git("commit", "--quiet", "--all", "--message", "a long install")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            run = self.start("create", "feature/login", start_new_session=True)
            bounded_wait.until(place.exists, 60, "the install runs")
            grandchild = int(place.read_text(encoding="utf-8"))
            place.unlink()
            self.assertTrue(self.is_running(grandchild))
            run.send_signal(number)
            out, _ = run.communicate(timeout=20)
            self.assertEqual((json.loads(out)["error"]["id"], run.returncode), ("interrupted", 1))
            self.assertFalse(self.is_running(grandchild), "its children ended with it")
        self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")

    def add_command(self, name: str, argv: str) -> None:
        config = self.main / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace("[commands]\n", f"[commands]\n{name} = {argv}\n"),
                          encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", name)

    def test_K01_success_failure_and_usage_errors_are_one_object_each(self):
        self.hedge.start_edge()
        for verb in VERBS:
            self.one_object(self.run_plain(*verb))
            self.assertEqual(self.one_object(self.run_plain(*verb, "--no-such-option"))["error"]["id"], "usage_error")
            elsewhere = self.one_object(self.run_plain(*verb, cwd=self.directory))
            self.assertEqual(elsewhere["error"]["id"], "not_a_repository")
        (self.main / "hedge.toml").unlink()
        self.assertEqual(self.one_object(self.run_plain("create", "x"))["error"]["id"], "config_missing")

    def test_K01_hooks_and_commands_that_print_do_not_reach_standard_output(self):
        self.hedge.start_edge()
        hook = self.main / ".git/hooks/post-checkout"
        hook.write_text("#!/bin/sh\necho from the hook\n", encoding="utf-8")
        hook.chmod(0o755)
        self.add_command("install", '["sh", "-c", "echo noise; echo more >&2"]')
        self.assertEqual(self.one_object(self.run_plain("create", "feature/login"))["status"], "ready")
        self.one_object(self.run_plain("destroy", "feature/login"))

    def test_K01_a_signal_ends_it_with_one_object_and_the_next_run_goes_on(self):
        self.add_command("install", slow_command(60))
        for number in (signal.SIGTERM, signal.SIGINT):
            run = self.start("create", "feature/login", start_new_session=True)
            told = self.wait_for_line(run.stderr, "command install")
            self.assertIn("install", told)
            run.send_signal(number)
            out, err = run.communicate(timeout=20)
            done = subprocess.CompletedProcess([], run.returncode, out, err)
            self.assertEqual(self.one_object(done)["error"]["id"], "interrupted")
        self.assertEqual(self.one_object(self.run_plain("destroy", "feature/login"))["status"], "destroyed")

    def test_K01_a_closed_standard_output_is_an_error_and_never_a_file_of_ours(self):
        done = self.run_plain("verify", stdout=None, preexec_fn=lambda: os.close(1))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("could not be written", done.stderr)
        done = self.run_plain("explain", stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1)

    def test_K01_a_reader_that_has_gone_is_an_error_and_not_a_crash(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = self.run_plain("explain", stdout=write_end)
        os.close(write_end)
        self.assertEqual(done.returncode, 1)

    def test_K03_standard_input_is_never_read(self):
        loop = ('printf "1\\n2\\n" | while read x; do "$0" verify >/dev/null 2>&1; echo "$x"; done')
        done = subprocess.run(["sh", "-c", loop, self.hedge.binary], cwd=self.main, env=self.hedge.environment, text=True,
                              capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout, "1\n2\n")
        read_end, write_end = os.pipe()  # never written, never closed
        for surroundings in ({"stdin": read_end}, {"stdin": None, "preexec_fn": lambda: os.close(0)},
                             {"start_new_session": True}):
            self.assertEqual(self.one_object(self.run_plain("verify", **surroundings))["status"], "incomplete")
        os.close(read_end)
        os.close(write_end)

    def test_K03_output_to_one_file_with_the_errors_still_ends_in_the_object(self):
        done = self.run_plain("verify", stderr=subprocess.STDOUT)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["schema"], "hedge.contract/1")

    def test_K06_odd_homes_give_an_object_and_no_file_elsewhere(self):
        path = {"PATH": os.environ["PATH"]}
        self.cover_the_real_home()
        dangling = self.directory / "dangling"
        dangling.symlink_to(self.directory / "nowhere")
        for extra in ({}, {"HOME": ""}, {"HOME": "/nonexistent"}, {"HOME": "relative"},
                      {"HOME": str(self.hedge.home), "XDG_CONFIG_HOME": str(dangling)},
                      {"HOME": str(self.hedge.home), "XDG_RUNTIME_DIR": "/nonexistent"}):
            told = self.one_object(self.run_plain("verify", env={**path, **extra}))
            self.assertIn(told["status"], ("incomplete", "failed"), extra)
            self.assertFalse((self.main / "relative").exists())
        self.assertFalse((self.directory / "nowhere").exists())

    def cover_the_real_home(self) -> None:
        """Without a HOME the password database's counts: what is written there goes with the mount namespace."""
        real = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local"
        if not real.exists():
            real.mkdir()
            self.addCleanup(real.rmdir)
        subprocess.run(["mount", "-t", "tmpfs", "none", real], check=True)
        self.addCleanup(subprocess.run, ["umount", real], check=True)

    def test_K07_each_way_of_not_serving_has_its_own_identifier(self):
        self.hedge.start_edge()
        self.create("feature/login")
        path = self.directory / "shop.feature-login"
        server = ("import http.server,os,sys\n"
                  "class H(http.server.BaseHTTPRequestHandler):\n"
                  " def do_GET(self):\n"
                  "  own=self.path=='/ready'\n"
                  "  if not own and MODE=='slow': import time; time.sleep(30)\n"
                  "  self.send_response(500 if not own and MODE=='broken' else 200)\n"
                  "  body=b'theirs'\n"
                  "  self.send_header('Content-Length',str(len(body))); self.end_headers(); self.wfile.write(body)\n"
                  "http.server.ThreadingHTTPServer(('127.0.0.1',int(os.environ['PORT'])),H).serve_forever()\n")
        config = (path / "hedge.toml").read_text(encoding="utf-8").replace('ready_path = "/healthz"', 'ready_path = "/ready"')
        config = config.replace('health_nonce = true', 'health_nonce = true\nhealth_timeout = "1s"')
        (path / "hedge.toml").write_text(
            config.replace('command = ["/usr/bin/python3", "-m", "shop", "serve"]', 'command = ["/usr/bin/python3", "server.py"]'),
            encoding="utf-8")
        for mode, identifier in (("slow", "app_slow"), ("broken", "app_unhealthy"), ("foreign", "app_foreign_nonce")):
            (path / "server.py").write_text(f"MODE={mode!r}\n{server}", encoding="utf-8")
            self.contract("down", cwd=path)
            told = self.contract("up", cwd=path, expect=None)
            self.assertEqual(self.check(told, "route.answers")["error"], identifier, mode)
            self.assertNotEqual(told["status"], "ready")
        # Runs, and never listens: the stack itself is not ready then.
        (path / "hedge.toml").write_text(
            config.replace('command = ["/usr/bin/python3", "-m", "shop", "serve"]',
                           'command = ["sleep", "1000"]\nready_timeout = "1s"'), encoding="utf-8")
        self.contract("down", cwd=path)
        told = self.contract("up", cwd=path, expect=1)
        self.assertEqual(self.check(told, "stack.running")["error"], "process_not_ready")

    def test_K09_a_failing_git_is_named_with_its_own_words(self):
        shims = self.directory / "shims"
        shims.mkdir()
        shim = shims / "git"
        shim.write_text("#!/bin/sh\necho the disk is on fire >&2\nexit 1\n", encoding="utf-8")
        shim.chmod(0o755)
        environment = {**self.hedge.environment, "PATH": f"{shims}:{self.hedge.environment['PATH']}"}
        for verb in VERBS:
            told = self.one_object(self.run_plain(*verb, env=environment))
            self.assertFalse(told["ok"])
            self.assertNotEqual(told["error"]["id"], "internal_error")

    def test_every_object_fits_the_published_schema(self):
        import jsonschema

        schema = json.loads((self.schema_file()).read_text(encoding="utf-8"))
        validator = jsonschema.Draft7Validator(schema)
        self.hedge.start_edge()
        for verb in (["create"], ["create", "feature/login"], ["verify", "feature/login"], ["status"], ["down", "feature/login"],
                     ["up", "feature/login"], ["create", "x", "--dry-run"], ["destroy", "feature/login", "--dry-run"],
                     ["destroy", "feature/login"], ["destroy", "feature/login"], ["verify", "nobody"]):
            told = self.one_object(self.run_plain(*verb))
            self.assertEqual([error.message for error in validator.iter_errors(told)], [], verb)

    @staticmethod
    def schema_file():
        from shop_world import EXAMPLE

        return EXAMPLE.parents[1] / "schema/contract.schema.json"
