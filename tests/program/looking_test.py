"""Verbs that only look write nothing, what is refused leaves nothing behind, and one state directory serves every verb."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "Looking"]

LOOKING = (["verify"], ["status"], ["path"], ["env"])


class Looking(ShopWorld):
    def records(self) -> list[tuple]:
        """What the registry holds, word for word."""
        with closing(sqlite3.connect(f"file:{self.hedge.state / 'registry.db'}?mode=ro", uri=True)) as registry:
            return registry.execute("SELECT * FROM worktrees ORDER BY id").fetchall()

    def test_looking_at_a_moved_worktree_tells_its_place_and_writes_nothing(self):
        self.without_stack()
        self.create("feature/login")
        old, new = self.directory / "shop.feature-login", self.directory / "moved"
        self.git("worktree", "move", "--force", "--force", old, new)
        before = self.records()
        for verb in LOOKING:
            self.hedge.run(*verb, cwd=new, expect=None)
            self.hedge.run(*verb, "feature/login", cwd=self.main, expect=None)
        self.assertEqual(self.hedge.run("path", "feature/login", cwd=self.main).stdout.strip(), str(new))
        self.assertEqual(self.contract("verify", "feature/login")["workspace"]["path"], str(new))
        listed = [(one["path"], one["state"]) for one in self.worktrees()]
        self.assertEqual(listed, [(str(new), "ready")])
        self.contract("destroy", "--dry-run", cwd=new)
        self.assertEqual(self.records(), before)
        self.assertEqual(self.create("feature/login")["workspace"]["path"], str(new))
        self.assertNotEqual(self.records(), before, "a verb that changes something lets the registry follow")
        self.assertFalse(old.exists())

    def test_gc_does_not_take_a_worktree_that_git_moved_for_removed(self):
        self.without_stack()
        self.create("feature/login")
        new = self.directory / "moved"
        self.git("worktree", "move", "--force", "--force", self.directory / "shop.feature-login", new)
        self.assertEqual(json.loads(self.hedge.run("gc", "--json").stdout)["worktrees"], [])
        self.assertTrue((new / "hedge.toml").exists())
        self.assertEqual(self.contract("verify", "feature/login")["status"], "ready")
        self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
        self.assertFalse(new.exists())
        self.assertEqual(self.worktrees(), [])

    def test_gc_does_not_take_a_disk_that_is_not_mounted_for_a_removed_directory(self):
        self.without_stack()
        disk, backing = self.directory / "disk", self.directory / "backing"
        disk.mkdir()
        backing.mkdir()

        def run(*command) -> None:
            subprocess.run([str(word) for word in command], check=True, timeout=30)

        run("mount", "-t", "tmpfs", "tmpfs", backing)
        self.addCleanup(run, "umount", backing)
        run("mount", "--bind", backing, disk)
        config = self.main / "hedge.toml"
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace('name = "shop"', f'name = "shop"\ndirectory = "{disk}/{{slug}}"', 1), encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", "worktrees on a disk of their own")
        path = Path(self.create("feature/login")["workspace"]["path"])
        self.assertEqual(path.parent, disk)
        (path / "untracked").write_text("work", encoding="utf-8")
        run("umount", disk)
        told = json.loads(self.hedge.run("gc", "--json").stdout)["worktrees"]
        self.assertEqual([one.get("state") for one in self.worktrees()], ["unverifiable"], told)
        run("mount", "--bind", backing, disk)
        self.addCleanup(run, "umount", disk)
        self.assertEqual(self.git("-C", path, "status", "--porcelain", "--branch").splitlines()[0].split("...")[0], "## feature/login")
        self.assertEqual((path / "untracked").read_text(encoding="utf-8"), "work")
        self.assertEqual(self.contract("verify", "feature/login")["status"], "ready")
        shutil.rmtree(path)
        self.assertEqual([one["state"] for one in self.worktrees()], ["orphan"], "the disk is there and the directory is not")

    def test_a_refused_create_leaves_no_record_no_branch_and_no_directory(self):
        self.without_stack()
        for arguments, identifier in (
                (["create", "feature/login", "--provider", "cloud"], "provider_unknown"),
                (["create", "--provider", "cloud"], "provider_unknown"),
                (["create", "feature/login", "--from", "no-such-ref"], "ref_not_found"),
                (["create", "feature/login", "--instance", "a/b"], "instance_invalid")):
            told = self.contract(*arguments, expect=2)
            self.assertEqual(told["error"]["id"], identifier)
            self.assertEqual(self.worktrees(), [], arguments)
        self.assertEqual(self.git("branch", "--list", "feature/login"), "")
        self.assertFalse((self.directory / "shop.feature-login").exists())

    def test_a_configuration_that_cannot_be_planned_leaves_no_record(self):
        self.without_stack("[env.variables]", 'BROKEN = "{no.such.value}"')
        told = self.contract("create", "feature/login", expect=2)
        self.assertFalse(told["ok"])
        self.assertEqual(self.worktrees(), [])

    def test_gc_removes_the_record_of_a_run_that_made_nothing(self):
        self.without_stack()
        self.create("feature/login")
        self.contract("destroy", "feature/login")
        with closing(sqlite3.connect(self.hedge.state / "registry.db")) as registry:
            columns = [row[1] for row in registry.execute("PRAGMA table_info(worktrees)")]
        self.create("feature/cart")
        with closing(sqlite3.connect(self.hedge.state / "registry.db")) as registry:
            row = dict(zip(columns, registry.execute("SELECT * FROM worktrees").fetchone()))
            row.update(id="01J00000000000000000000000", slug="unborn", branch="unborn", state="creating", git_dir="",
                       path=str(self.directory / "shop.unborn"))
            marks = ", ".join("?" for _ in columns)
            registry.execute(f"INSERT INTO worktrees VALUES ({marks})", [row[name] for name in columns])
            registry.commit()
        dry = json.loads(self.hedge.run("gc", "--dry-run", "--json").stdout)["worktrees"]
        self.assertEqual([(one["slug"], one["standing"], one["action"]) for one in dry], [("unborn", "unborn", "would_remove")])
        done = json.loads(self.hedge.run("gc", "--json").stdout)["worktrees"]
        self.assertEqual([(one["slug"], one["action"]) for one in done], [("unborn", "removed")])
        self.assertEqual([one["slug"] for one in self.worktrees()], ["feature-cart"])

    def test_the_state_directory_of_the_settings_file_is_every_verbs(self):
        self.without_stack()
        elsewhere = self.directory / "elsewhere"
        settings = self.hedge.home / ".config/hedge/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[edge]\nstate_dir = "{elsewhere}"\nhttp = "127.0.0.1:{self.hedge.http_port}"\n', encoding="utf-8")
        named = self.hedge.environment.pop("HEDGE_STATE_DIR")
        try:
            self.contract("create", "feature/login", expect=None)
            self.assertEqual([one["slug"] for one in self.worktrees()], ["feature-login"])
            self.hedge.run("route", "add", "x.localhost", "tcp:127.0.0.1:1")
            self.hedge.run("edge", "start")
            status = self.json("edge", "status")
            self.assertEqual((status["state_directory"], status["routes"]), (str(elsewhere), 1))
            self.hedge.run("edge", "stop")
            self.assertTrue((elsewhere / "registry.db").exists())
            self.assertTrue((elsewhere / "routes.db").exists())
            self.assertFalse((self.hedge.home / ".local/state/hedge").exists())
            # What concerns the edge alone stops nobody else.
            sound = settings.read_text(encoding="utf-8")
            settings.write_text(sound + '[[routes]]\nhost = "not a host"\n', encoding="utf-8")
            self.assertEqual([one["slug"] for one in self.worktrees()], ["feature-login"])
            for nothing in ("", "relative"):
                self.hedge.environment["HEDGE_STATE_DIR"] = nothing
                self.assertEqual([one["slug"] for one in self.worktrees()], ["feature-login"], "the file's still counts")
            self.hedge.environment.pop("HEDGE_STATE_DIR")
            # A file that cannot be read might have named another one.
            settings.write_text("[edge]\nstate_dir = 3\n", encoding="utf-8")
            self.refused("config_invalid", "list", expect=2)
        finally:
            self.hedge.environment["HEDGE_STATE_DIR"] = named
        self.assertEqual(self.worktrees(), [], "the environment outranks the file, which need not even be sound")
