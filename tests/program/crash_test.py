"""W-19: `kill -9` at any point, then create converges and destroy leaves no trace."""

import os
import random
import signal
import time

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "Crashes"]

ROUNDS = 6
LONGEST = 2.0  # seconds; a whole create takes about that


class Crashes(ShopWorld):
    def kill_a_create(self, delay: float) -> None:
        run = self.start("create", "feature/login", "--json", start_new_session=True)
        # The only sleep of this file: the moment of the blow is what is varied.
        time.sleep(delay)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=20)

    def delays(self) -> list[float]:
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", flush=True)
        chosen = random.Random(seed)
        return sorted(chosen.uniform(0.0, LONGEST) for _ in range(ROUNDS))

    def test_W19_a_killed_create_is_finished_by_the_next(self):
        self.hedge.start_edge()
        for delay in self.delays():
            with self.subTest(delay=delay):
                self.kill_a_create(delay)
                self.assertEqual(self.create("feature/login")["status"], "ready")
                self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
                self.assert_no_trace("feature/login", "feature-login")

    def test_W19_a_killed_create_is_removed_by_destroy(self):
        self.hedge.start_edge()
        for delay in self.delays():
            with self.subTest(delay=delay):
                self.kill_a_create(delay)
                self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
                self.assert_no_trace("feature/login", "feature-login")

    def test_W19_a_killed_destroy_is_finished_by_the_next(self):
        self.hedge.start_edge()
        for delay in self.delays()[: ROUNDS // 2]:
            with self.subTest(delay=delay):
                self.create("feature/login")
                run = self.start("destroy", "feature/login", "--json", start_new_session=True)
                time.sleep(delay / 4)
                os.killpg(run.pid, signal.SIGKILL)
                run.communicate(timeout=20)
                self.assertEqual(self.contract("destroy", "feature/login")["status"], "destroyed")
                self.assert_no_trace("feature/login", "feature-login")
