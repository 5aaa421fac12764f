"""What hedge.toml and the edge's settings ask for, seen in worktrees of the sample application."""

import shutil

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "Configuration"]


class Configuration(ShopWorld):
    def test_an_edge_with_one_listener_serves_worktrees_that_are_ready(self):
        for scheme in ("https", "http"):
            self.hedge.start_edge(schemes=(scheme,))
            told = self.create(f"feature/{scheme}")
            self.assertEqual((told["status"], self.check(told, "route.answers")["status"]), ("ready", "pass"))
            self.hedge.stop_edge()

    def test_hostnames_that_cannot_be_are_refused_with_their_place_before_anything_is_made(self):
        config = self.main / "hedge.toml"
        original = config.read_text(encoding="utf-8")
        line = original.splitlines().index('name = "shop"') + 2
        for host in ("{slug}_x y.localhost", "x.{slug}", "{app}.{branch}.{slug}.localhost", "{slug}-{slug}.localhost"):
            config.write_text(original.replace('name = "shop"', f'name = "shop"\nhost = "{host}"'), encoding="utf-8")
            self.assertIn(f"hedge.toml:{line}:8", self.refused("config_invalid", "-C", self.main, "config", expect=2).stderr)
            self.assertEqual(self.contract("create", "feature/login", expect=2)["error"]["id"], "config_invalid")
        self.assertEqual(self.worktrees(), [])

    def test_in_a_bare_repository_no_file_of_the_callers_directory_is_read_or_written(self):
        bare = self.directory / "bare.git"
        self.git("clone", "--quiet", "--bare", self.main, bare)
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        self.hedge.run("-C", bare, "init", cwd=elsewhere, expect=2)
        self.assertEqual(list(elsewhere.iterdir()), [])
        shutil.copy(self.main / "hedge.toml", elsewhere)
        for verb in (["init"], ["config"], ["create", "feature/login"]):
            done = self.hedge.run("-C", bare, *verb, cwd=elsewhere, expect=2)
            self.assertIn("[checkout_needed]", done.stderr)
        self.assertEqual(self.worktrees(), [])

    def test_a_hostname_is_the_same_in_whatever_case_it_is_configured(self):
        self.hedge.start_edge()
        config = self.main / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace('name = "shop"', 'name = "shop"\nhost = "{slug}.Shop.localhost."'),
                          encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", "a hostname")
        told = self.create("feature/login")
        self.assertEqual((told["status"], self.host(told)), ("ready", "feature-login.shop.localhost"))
        self.assertEqual(self.create("feature/login")["changes"], [])

    def test_a_domain_that_the_root_may_not_sign_for_is_not_ready(self):
        self.hedge.start_edge()
        config = self.main / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace('name = "shop"', 'name = "shop"\nhost = "{slug}.example.com"'),
                          encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", "a hostname")
        told = self.contract("create", "feature/login", expect=1)
        self.assertEqual((told["status"], self.check(told, "route.answers")["error"]), ("failed", "ca_suffix_missing"))

    def test_a_certificate_that_no_browser_would_take_is_told_and_not_ready(self):
        key, certificate = self.directory / "given.key", self.directory / "given.crt"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 9, "-keyout", key,
                     "-out", certificate, "-subj", "/CN=given", "-addext", "subjectAltName=DNS:*.feature-login.localhost",
                     "-addext", "basicConstraints=critical,CA:FALSE")
        self.hedge.start_edge(f'certificate = "{certificate}"\nprivate_key = "{key}"')
        told = self.contract("create", "feature/login", expect=1)
        answers = self.check(told, "route.answers")
        self.assertEqual((told["status"], answers["error"]), ("failed", "certificate_unverified"))
        self.assertIn("self-signed", answers["detail"].replace("self signed", "self-signed"))

    def test_a_damaged_authority_is_the_reason_and_not_an_edge_that_does_not_answer(self):
        self.hedge.start_edge()
        self.create("feature/login")
        self.hedge.stop_edge()
        (self.hedge.state / "ca/intermediate.pem").write_text("garbage", encoding="utf-8")
        self.hedge.start_edge()
        told = self.contract("verify", "feature/login", expect=None)
        self.assertEqual((told["ok"], self.check(told, "route.answers")["error"]), (False, "ca_invalid"))
        self.assertTrue(told["next"].startswith("hedge ca"), told["next"])

    def test_text_that_looks_like_a_secret_is_none_and_no_command_gets_one(self):
        branch = "feat/{secret.postgres}"
        self.contract("create", branch, expect=3)
        told = self.hedge.run("run", "-w", branch, "--", "/usr/bin/printenv", "HEDGE_BRANCH", cwd=self.main)
        self.assertEqual(told.stdout, branch + "\n")
        config = self.main / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace('"shop", "serve"]', '"shop", "serve", "{secret.web}"]'), encoding="utf-8")
        told = self.contract("create", "feature/login", expect=2)
        self.assertEqual(told["error"]["id"], "secret_in_command")
        self.assertIn("hedge.toml:", told["error"]["text"])
        self.assertFalse((self.directory / "shop.feature-login").exists())

    def test_K07_an_install_whose_result_was_not_copied_runs_in_every_worktree(self):
        self.hedge.start_edge()
        config = self.main / "hedge.toml"
        config.write_text(config.read_text(encoding="utf-8").replace(
            "[commands]\n", '[commands]\ninstall = ["sh", "-c", "mkdir -p libs && touch libs/made"]\n'), encoding="utf-8")
        with (self.main / ".gitignore").open("a", encoding="utf-8") as ignored:
            ignored.write("/libs/\n")
        (self.main / "requirements.txt").write_text("library==1\n", encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "a library")
        self.contract("create")
        told = self.create("feature/login")
        self.assertEqual(self.check(told, "dependencies.installed")["status"], "pass")
        self.assertTrue((self.directory / "shop.feature-login/libs/made").exists())
