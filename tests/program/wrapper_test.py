"""hedge run: its signals, its lock, and what it exits with when it could not try."""

import os
import signal
import subprocess
from pathlib import Path

from shop_world import ShopWorld, prepare
from support import bounded_wait

__all__ = ["prepare", "Wrappers"]

# A child of the command that the command waits for; tells its process number.
WITH_A_CHILD = ("sh", "-c", "sh -c 'echo $$; exec sleep 1000'; exit 3")


class Wrappers(ShopWorld):
    def setUp(self):
        super().setUp()
        self.without_stack()
        self.create("feature/login")

    def start_wrapper(self) -> tuple[subprocess.Popen, int]:
        wrapper = self.start("run", "-w", "feature/login", "--", *WITH_A_CHILD, start_new_session=True)
        return wrapper, int(wrapper.stdout.readline())

    @staticmethod
    def _wait_until_it_watches(wrapper: subprocess.Popen) -> None:
        """It waits for the command, so that whoever ends the group in its place knows the group."""
        wchan = Path(f"/proc/{wrapper.pid}/wchan")
        bounded_wait.until(lambda: wchan.read_text(encoding="utf-8") == "do_wait", 20, "it waits for the command")

    def test_signals_reach_the_command_and_its_children(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            wrapper, grandchild = self.start_wrapper()
            wrapper.send_signal(number)
            wrapper.communicate(timeout=20)
            self.assertIn(wrapper.returncode, (128 + number, 3), number)
            bounded_wait.until(lambda: not self.is_running(grandchild), 20, f"signal {number} reached the child's child")

    def test_it_lives_until_a_command_that_tidies_up_has_ended(self):
        script = "trap 'echo tidied; exit 5' TERM; echo on; while :; do sleep 0.05; done"
        wrapper = self.start("run", "-w", "feature/login", "--", "sh", "-c", script, start_new_session=True)
        self.wait_for_line(wrapper.stdout, "on")
        wrapper.send_signal(signal.SIGTERM)
        out, _ = wrapper.communicate(timeout=20)
        self.assertEqual((out, wrapper.returncode), ("tidied\n", 5))

    def test_a_command_and_its_children_end_with_a_wrapper_that_is_killed(self):
        for whole_group in (False, True):
            wrapper, grandchild = self.start_wrapper()
            self._wait_until_it_watches(wrapper)
            if whole_group:
                os.killpg(wrapper.pid, signal.SIGKILL)
            else:
                wrapper.kill()
            wrapper.wait(timeout=20)
            bounded_wait.until(lambda: not self.is_running(grandchild), 20, "the command's child has ended")
            wrapper.stdout.read()  # to its end: nobody holds it open
        bounded_wait.until(lambda: self.contract("destroy", "feature/login", expect=None)["status"] == "destroyed", 20,
                           "nothing runs in the worktree any more")

    def test_one_that_does_not_hear_is_killed_and_a_wrapper_that_ends_leaves_what_it_left(self):
        script = "trap '' TERM; echo $$; while :; do sleep 0.05; done"
        wrapper = self.start("run", "-w", "feature/login", "--", "sh", "-c", script, start_new_session=True)
        deaf = int(wrapper.stdout.readline())
        self._wait_until_it_watches(wrapper)
        wrapper.kill()
        wrapper.communicate(timeout=20)
        bounded_wait.until(lambda: not self.is_running(deaf), 20, "it was killed")
        done = self.hedge.run("run", "-w", "feature/login", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!", cwd=self.main)
        self.assertTrue(self.is_running(int(done.stdout)))
        os.kill(int(done.stdout), signal.SIGKILL)

    def test_a_command_that_outlives_a_killed_wrapper_still_protects_its_worktree(self):
        script = "setsid sh -c 'echo $$; exec sleep 1000'"
        wrapper = self.start("run", "-w", "feature/login", "--", "sh", "-c", script, start_new_session=True)
        grandchild = int(wrapper.stdout.readline())
        self._wait_until_it_watches(wrapper)
        wrapper.kill()
        wrapper.wait(timeout=20)
        self.assertEqual(self.contract("destroy", "feature/login", expect=4)["error"]["id"], "wrapper_running")
        self.assertTrue((self.directory / "shop.feature-login").exists())
        os.killpg(os.getpgid(grandchild), signal.SIGKILL)
        bounded_wait.until(lambda: self.contract("destroy", "feature/login", expect=None)["status"] == "destroyed", 20,
                           "nothing runs in the worktree any more")

    def test_several_run_side_by_side_and_beside_up_and_down(self):
        running = [self.start_wrapper() for _ in range(2)]
        for verb in ("down", "up"):
            self.assertIsNone(self.contract(verb, "feature/login", expect=None).get("error"))
        for wrapper, grandchild in running:
            self.assertTrue(self.is_running(grandchild))
            wrapper.send_signal(signal.SIGTERM)
            wrapper.communicate(timeout=20)

    def test_what_could_not_be_tried_exits_with_125_and_says_why(self):
        def refused(identifier: str, *arguments, cwd=self.main, options=()):
            done = self.hedge.run(*options, "run", *arguments, "--", "true", cwd=cwd, expect=125)
            self.assertEqual(done.stdout, "")
            self.assertIn(f"[{identifier}]", done.stderr)

        refused("worktree_not_found", "-w", "nobody")
        refused("not_a_repository", cwd=self.directory)
        refused("service_unknown", "-w", "feature/login", "-s", "nothing")
        path = self.directory / "shop.feature-login"
        (path / "hedge.toml").write_text("[app\n", encoding="utf-8")
        refused("config_invalid", cwd=path)
        damaged = self.directory / "damaged"
        damaged.mkdir(mode=0o700)
        (damaged / "registry.db").write_text("no database", encoding="utf-8")
        refused("state_unreadable", options=("--state-dir", damaged))
