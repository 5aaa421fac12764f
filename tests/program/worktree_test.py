"""The whole chain with the sample application: create, verify, use, destroy."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "Worktrees"]


class Worktrees(ShopWorld):
    def test_two_branches_are_ready_and_neither_sees_the_others_notes(self):
        self.hedge.start_edge()
        main = self.contract("create")
        login = self.create("feature/login")
        cart = self.create("feature/cart")
        for told in (main, login, cart):
            self.assertEqual((told["status"], told["ok"], told["exit_code"]), ("ready", True, 0))
        hosts = [self.host(told) for told in (main, login, cart)]
        self.assertEqual(hosts, ["shop.localhost", "shop.feature-login.localhost", "shop.feature-cart.localhost"])
        self.note(hosts[1], "only in login")
        self.assertEqual([self.notes(host) for host in hosts], [[], ["only in login"], []])
        self.assertEqual(self.contract("verify", cwd=self.directory / "shop.feature-login")["status"], "ready")
        names = {told["data"]["database"]["app"] for told in (main, login, cart)}
        cookies = {told["app"]["cookies"]["session"] for told in (main, login, cart)}
        self.assertEqual((len(names), len(cookies)), (3, 3))

    def test_a_second_create_changes_nothing(self):
        self.hedge.start_edge()
        first = self.create("feature/login")
        before = self.hedge.get(self.host(first)).json()["pid"]
        second = self.create("feature/login")
        self.assertEqual(second["changes"], [])
        self.assertEqual(second["workspace"]["id"], first["workspace"]["id"])
        self.assertEqual(self.hedge.get(self.host(first)).json()["pid"], before)

    def test_without_an_edge_everything_is_made_and_the_one_missing_thing_named(self):
        told = self.contract("create", "feature/login", expect=3)
        self.assertEqual((told["status"], told["ok"], told["next"]), ("incomplete", False, "hedge edge start"))
        self.assertEqual(self.check(told, "edge.running")["error"], "edge_not_running")
        self.assertEqual(self.check(told, "route.answers")["status"], "skip")
        self.assertEqual(self.check(told, "stack.running")["status"], "pass")
        self.hedge.start_edge()
        self.assertEqual(self.contract("verify", "feature/login", expect=3)["next"], "hedge create feature/login")

    def test_the_next_command_run_literally_from_main_makes_the_worktree_ready_and_leaves_main_alone(self):
        self.hedge.start_edge()
        for branch in ("feature/login", "it's;here"):
            self.create(branch)
            path = Path(self.hedge.run("path", branch, cwd=self.main).stdout.strip())
            (path / ".env.hedge").unlink()
            told = self.contract("verify", branch, expect=3)
            commands = [told["next"], self.check(told, "env.file")["remediation"]["command"]]
            self.assertEqual([shlex.split(command) for command in commands], [["hedge", "create", branch]] * 2)
            for _ in range(2):
                if told["next"]:
                    self.hedge.run(*shlex.split(told["next"])[1:], cwd=self.main, expect=None)
                    told = self.contract("verify", branch, expect=None)
            self.assertEqual((told["status"], told["next"]), ("ready", None))
        self.assertEqual({worktree["kind"] for worktree in self.worktrees()}, {"worktree"})
        self.assertFalse((self.main / ".env.hedge").exists())

    def test_the_next_command_finds_an_adopted_worktree_and_another_directory(self):
        self.hedge.start_edge()
        other = self.directory / "other"
        self.git("worktree", "add", "--quiet", "-b", "by-hand", other)
        told = self.contract("destroy", "by-hand", expect=4)
        self.assertEqual(told["next"], f"hedge -C {other} create --adopt")
        told = self.contract("-C", other, "verify", cwd=self.directory, expect=3)
        self.assertEqual(told["next"], f"hedge -C {other} create --adopt")
        self.hedge.run(*told["next"].split()[1:], cwd=self.directory)
        self.contract("down", "by-hand")
        told = self.contract("verify", "by-hand", expect=3)
        self.assertEqual(told["next"], f"hedge -C {other} up")
        self.hedge.run(*told["next"].split()[1:], cwd=self.main)
        self.assertEqual(self.contract("verify", "by-hand")["status"], "ready")

    def test_destroy_leaves_no_trace_and_twice_is_fine(self):
        self.hedge.start_edge()
        told = self.create("feature/login")
        gone = self.contract("destroy", "feature/login")
        self.assertEqual((gone["status"], gone["ok"]), ("destroyed", True))
        self.assertIn("checkout", [change["resource"] for change in gone["changes"]])
        self.assert_no_trace("feature/login", "feature-login")
        self.assertEqual(self.hedge.get(self.host(told)).status, 404)
        again = self.contract("destroy", "feature/login")
        self.assertEqual((again["status"], again["changes"]), ("destroyed", []))

    def test_W25_destroy_refuses_what_would_lose_work_and_names_it(self):
        self.hedge.start_edge()
        self.create("feature/login")
        path = self.directory / "shop.feature-login"
        (path / "shop/web.py").write_text("changed", encoding="utf-8")
        (path / "new file.txt").write_text("new", encoding="utf-8")
        told = self.contract("destroy", "feature/login", expect=4)
        self.assertEqual((told["status"], told["error"]["id"]), ("failed", "unsaved_work"))
        listed = json.dumps(told["error"])
        self.assertIn("shop/web.py", listed)
        self.assertIn("new file.txt", listed)
        self.assertEqual(self.contract("verify", "feature/login")["status"], "ready")
        gone = self.contract("destroy", "feature/login", "--discard")
        kept = next(warning for warning in gone["warnings"] if warning["id"] == "recovery_kept")
        reference = next(word for word in kept["text"].split() if word.startswith("refs/"))
        self.assertEqual(self.git("show", f"{reference}:new file.txt"), "new")

    def start_rebase(self, path):
        """One that stops at its conflict."""
        for checkout, text in ((path, "ours"), (self.main, "theirs")):
            (checkout / "README.md").write_text(text, encoding="utf-8")
            self.git("add", "README.md", cwd=checkout)
            self.git("commit", "--quiet", "--message", text, cwd=checkout)
        with self.assertRaises(subprocess.CalledProcessError):
            self.git("rebase", "main", cwd=path)

    def commit_alone(self, path, *switch):
        if switch:
            self.git("switch", "--quiet", *switch, cwd=path)
        (path / "precious.txt").write_text("precious", encoding="utf-8")
        self.git("add", "precious.txt", cwd=path)
        self.git("commit", "--quiet", "--message", "precious work", cwd=path)

    def test_W25_each_state_of_unsaved_work_is_refused_named_and_kept_by_discard(self):
        self.without_stack()
        states = {
            "modified": (lambda path: (path / "hedge.toml").open("a").write("# mine\n"), "unsaved_work", "hedge.toml"),
            "untracked": (lambda path: (path / "precious.txt").write_text("precious"), "unsaved_work", "precious.txt"),
            "unpushed": (self.commit_alone, "unsaved_work", "precious work"),
            "detached": (lambda path: self.commit_alone(path, "--detach"), "unsaved_work", "precious work"),
            "rebase": (self.start_rebase, "operation_in_progress", "rebase"),
        }
        for state, (arrange, identifier, named) in states.items():
            with self.subTest(state=state):
                self.create(state)
                path = self.directory / f"shop.{state}"
                arrange(path)
                before = (self.git("status", "--porcelain", cwd=path), self.git("rev-parse", "HEAD", cwd=path))
                told = self.contract("destroy", state, expect=4)
                self.assertEqual((told["status"], told["error"]["id"]), ("failed", identifier))
                self.assertIn(named, json.dumps(told["error"]))
                after = (self.git("status", "--porcelain", cwd=path), self.git("rev-parse", "HEAD", cwd=path))
                self.assertEqual(after, before, "nothing changed")
                gone = self.contract("destroy", state, "--discard")
                self.assertEqual(gone["status"], "destroyed")
                kept = next(warning for warning in gone["warnings"] if warning["id"] == "recovery_kept")
                reference = next(word for word in kept["text"].split() if word.startswith("refs/"))
                self.git("rev-parse", "--verify", f"{reference}^{{commit}}")
                self.assertFalse(path.exists())

    def test_hostile_branch_names_get_names_of_their_own(self):
        self.hedge.start_edge()
        branches = ["it's;rm -rf", "🐙/é", "a" * 200, "Feature/Foo", "feature/foo", "feature-foo"]
        branches = [branch.replace(" ", "_") for branch in branches]
        told = [self.create(branch) for branch in branches]
        self.assertEqual({one["status"] for one in told}, {"ready"})
        self.assertEqual([one["workspace"]["branch"] for one in told], branches)
        for part in (lambda one: one["workspace"]["slug"], self.host, lambda one: one["data"]["database"]["app"]):
            self.assertEqual(len({part(one) for one in told}), len(branches))
        # "feature-foo" is also the slug of feature/foo: each destroy takes its own branch's worktree, and no other.
        for branch, one in zip(reversed(branches), reversed(told)):
            self.assertEqual(self.contract("verify", branch)["workspace"]["path"], one["workspace"]["path"])
            gone = self.contract("destroy", branch)
            self.assertEqual((gone["status"], gone["workspace"]["path"]), ("destroyed", one["workspace"]["path"]))
            told.remove(one)
            if branch == "feature-foo":
                self.assertEqual(self.contract("destroy", branch, expect=2)["error"]["id"], "worktree_ambiguous")
            self.assertEqual([other["workspace"]["path"] for other in told if not Path(other["workspace"]["path"]).is_dir()], [])

    def test_names_that_git_refuses_are_usage_errors(self):
        for branch in ("a..b", "-x", "a b", "x.lock", "@{1}"):
            done = self.hedge.run("create", "--json", "--", branch, cwd=self.main, expect=2)
            self.assertIn(json.loads(done.stdout)["error"]["id"], ("branch_invalid", "usage_error"))

    def test_an_unknown_key_is_refused_at_its_line_and_column(self):
        config = self.main / "hedge.toml"
        lines = config.read_text(encoding="utf-8").splitlines()
        line = lines.index('name = "shop"') + 1
        lines.insert(line, 'hots = "x"')
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        told = self.contract("create", "feature/login", expect=2)
        self.assertEqual(told["error"]["id"], "config_invalid")
        self.assertIn(f'hedge.toml:{line + 1}:1: unknown key "hots"', told["error"]["text"])
        self.assertIn('did you mean "host"?', told["error"]["text"])
        self.assertEqual(self.worktrees(), [])

    def test_W18_two_creates_of_one_worktree_at_once_make_one(self):
        self.hedge.start_edge()
        runs = [self.start("create", "feature/login", "--json") for _ in range(2)]
        told = [json.loads(run.communicate(timeout=120)[0]) for run in runs]
        self.assertTrue(any(one["ok"] for one in told), told)
        for one in told:
            # The one that came second may have looked while the first was still at work; it says at what.
            self.assertTrue(one["ok"] or one["error"] or [check for check in one["checks"] if check["status"] == "fail"], one)
        self.assertEqual([worktree["slug"] for worktree in self.worktrees()], ["feature-login"])
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 2)
        self.assertEqual(self.contract("verify", "feature/login")["status"], "ready")

    def test_W18_ten_creates_in_two_clones_and_one_name_twice_at_once_all_have_names_of_their_own(self):
        self.without_stack()
        clone = self.directory / "second"
        self.git("clone", "--quiet", self.main, clone)
        config = clone / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace('name = "shop"', 'name = "store"'), encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", "an application of its own", cwd=clone)
        wanted = [(place, f"b{number}") for number in range(5) for place in (self.main, clone)]
        runs = [(place, branch, self.start("create", branch, "--json", cwd=place))
                for place, branch in [*wanted, (self.main, "b0")]]
        told = [(place, branch, json.loads(run.communicate(timeout=120)[0])) for place, branch, run in runs]
        for place, branch, one in told[:-1]:
            if branch != "b0" or place != self.main:
                self.assertEqual(one["status"], "ready", one)
        twice = [told[0][2], told[-1][2]]
        self.assertTrue(any(one["ok"] for one in twice), twice)
        for one in twice:
            # The one that came second may have looked while the first was still at work; it says at what.
            self.assertTrue(one["ok"] or one["error"] or [check for check in one["checks"] if check["status"] == "fail"], one)
        listed = self.worktrees()
        self.assertEqual(len(listed), len(wanted))
        for part in ("id", "path", "url"):
            self.assertEqual(len({one[part] for one in listed}), len(wanted), part)
        for place in (self.main, clone):
            branches = set(self.git("branch", "--format", "%(refname:short)", cwd=place).split())
            checked_out = {line.removeprefix("branch refs/heads/")
                           for line in self.git("worktree", "list", "--porcelain", cwd=place).splitlines()
                           if line.startswith("branch ")}
            self.assertEqual(branches, checked_out, "no branch without a worktree")

    def test_W02_a_worktree_that_git_made_is_refused_until_it_is_adopted(self):
        self.hedge.start_edge()
        other = self.directory / "other"
        self.git("worktree", "add", "--quiet", "-b", "by-hand", other)
        (other / "sub").mkdir()
        for verb in (["up"], ["down"], ["run", "--", "true"], ["create"]):
            done = self.hedge.run(*verb, cwd=other / "sub", expect=4)
            self.assertIn("[worktree_uninitialized]", done.stderr, verb)
        told = self.contract("verify", cwd=other, expect=3)
        self.assertEqual((told["status"], told["next"]), ("incomplete", "hedge create --adopt"))
        self.assertEqual(self.contract("create", "--adopt", cwd=other)["status"], "ready")

    def test_down_stops_and_up_starts_the_same_again(self):
        self.hedge.start_edge()
        told = self.create("feature/login")
        self.note(self.host(told), "kept")
        stopped = self.contract("down", "feature/login")
        self.assertEqual((stopped["status"], stopped["exit_code"]), ("incomplete", 0))
        self.assertIn(self.hedge.get(self.host(told)).status, (502, 503))
        self.assertEqual(self.contract("verify", "feature/login", expect=3)["next"], "hedge up feature/login")
        self.assertEqual(self.contract("up", "feature/login")["status"], "ready")
        self.assertEqual(self.notes(self.host(told)), ["kept"])

    def test_dry_runs_say_what_they_would_do_and_do_nothing(self):
        told = self.contract("create", "feature/login", "--dry-run")
        self.assertTrue(told["dry_run"])
        kinds = [change["resource"] for change in told["changes"]]
        for kind in ("checkout", "env", "database", "stack", "route"):
            self.assertIn(kind, kinds)
        self.assertEqual(self.worktrees(), [])
        self.assertFalse((self.directory / "shop.feature-login").exists())
        self.contract("create", "feature/login", expect=3)
        told = self.contract("destroy", "feature/login", "--dry-run")
        self.assertTrue(told["changes"])
        self.assertTrue((self.directory / "shop.feature-login").exists())

    def test_a_dry_run_of_destroy_refuses_what_destroy_refuses_and_lists_the_ignored_files(self):
        self.contract("create", "feature/login", expect=3)
        path = self.directory / "shop.feature-login"
        told = self.contract("destroy", "feature/login", "--dry-run")
        ignored = next(warning for warning in told["warnings"] if warning["id"] == "ignored_removed")
        self.assertIn(".env.hedge", ignored["text"])
        (path / "new file.txt").write_text("new", encoding="utf-8")
        told = self.contract("destroy", "feature/login", "--dry-run", expect=4)
        self.assertEqual(told["error"]["id"], "unsaved_work")
        self.assertIn("new file.txt", json.dumps(told["error"]))
        told = self.contract("destroy", "feature/login", "--dry-run", "--discard")
        self.assertIn("recovery_kept", [warning["id"] for warning in told["warnings"]])
        self.assertEqual(self.git("for-each-ref", "refs/hedge"), "")
        self.assertTrue((path / "new file.txt").exists())

    def test_gc_removes_what_is_left_of_a_directory_that_was_deleted(self):
        self.hedge.start_edge()
        told = self.create("feature/login")
        shutil.rmtree(self.directory / "shop.feature-login")
        listed = {worktree["slug"]: worktree["state"] for worktree in self.worktrees()}
        self.assertEqual(listed, {"feature-login": "orphan"})
        dry = json.loads(self.hedge.run("gc", "--dry-run", "--json").stdout)["worktrees"]
        self.assertEqual([(one["slug"], one["action"]) for one in dry], [("feature-login", "would_remove")])
        done = json.loads(self.hedge.run("gc", "--json").stdout)["worktrees"]
        self.assertEqual([(one["slug"], one["action"]) for one in done], [("feature-login", "removed")])
        self.assertEqual(self.hedge.get(self.host(told)).status, 404)
        self.assertEqual(self.worktrees(), [])

    def test_wrappers_run_in_the_worktrees_environment_with_its_exit_codes(self):
        self.contract("create", "feature/login", expect=3)

        def run(*command, expect=0):
            return self.hedge.run("run", "-w", "feature/login", "--", *command, cwd=self.main, expect=expect)

        self.assertEqual(run("/usr/bin/printenv", "HEDGE_SLUG").stdout, "feature-login\n")
        self.assertEqual(run("pwd").stdout.strip(), str(self.directory / "shop.feature-login"))
        run("sh", "-c", "exit 7", expect=7)
        run("no-such-program", expect=127)
        run("/etc/passwd", expect=126)
        self.assertEqual(run("echo", "--json", "-w").stdout, "--json -w\n")
        path = self.hedge.run("path", "feature/login", cwd=self.main).stdout.strip()
        self.assertEqual(path, str(self.directory / "shop.feature-login"))
        self.assertIn("HEDGE_SLUG=feature-login", self.hedge.run("env", "feature/login", cwd=self.main).stdout)

    def test_T20_programs_in_a_worktree_trust_the_edge_and_still_the_public_roots(self):
        self.hedge.start_edge()
        told = self.contract("create", "feature/login")
        variables = json.loads(self.hedge.run("env", "feature/login", "--json", cwd=self.main).stdout)
        trust = self.hedge.state / "trust"
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
            self.assertEqual(variables[name], str(trust / "bundle.crt"), name)
        for name in ("NODE_EXTRA_CA_CERTS", "DENO_CERT"):
            self.assertEqual(variables[name], str(trust / "root.crt"), name)
        self.assertEqual(variables["JAVA_TOOL_OPTIONS"], f"-Djavax.net.ssl.trustStore={trust / 'java.p12'}")
        host = self.host(told)
        address = f"{host}:{self.hedge.https_port}"

        def run(*command):
            return self.hedge.run("run", "-w", "feature/login", "--", *command, cwd=self.main).stdout

        self.assertIn("feature-login", run("curl", "-sS", "--resolve", f"{address}:127.0.0.1", f"https://{address}/whoami"))
        script = ("import socket, ssl; context = ssl.create_default_context(); "
                  f"peer = context.wrap_socket(socket.create_connection(('127.0.0.1', {self.hedge.https_port})), server_hostname='{host}'); "
                  "print(peer.version(), len(context.get_ca_certs()))")
        public = Path("/etc/ssl/certs/ca-certificates.crt").read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
        self.assertIn(run("/usr/bin/python3", "-c", script), (f"TLSv1.3 {public + 1}\n", f"TLSv1.2 {public + 1}\n"))
        # What the supervised processes have.
        served = self.environments(b"HEDGE_SLUG=feature-login\0")
        self.assertTrue(served)
        for text in served:
            self.assertIn(f"SSL_CERT_FILE={trust / 'bundle.crt'}\0".encode(), text)

    @staticmethod
    def environments(part: bytes) -> list[bytes]:
        """Of every process that was started with `part` in its environment."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                text = (process / "environ").read_bytes()
            except OSError:
                continue  # it has ended
            if part in text:
                found.append(text)
        return found

    def test_destroy_waits_for_no_running_wrapper_but_refuses(self):
        self.contract("create", "feature/login", expect=3)
        wrapper = self.start("run", "-w", "feature/login", "--", "sh", "-c", "echo on; read line", stdin=subprocess.PIPE)
        self.assertEqual(wrapper.stdout.readline(), "on\n")
        told = self.contract("destroy", "feature/login", expect=4)
        self.assertEqual(told["error"]["id"], "wrapper_running")
        wrapper.communicate("\n", timeout=20)
        self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
