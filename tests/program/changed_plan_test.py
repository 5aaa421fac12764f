"""What hedge.toml asked for once and asks for no longer neither runs on nor stays published."""

from pathlib import Path

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "ChangedPlan"]


class ChangedPlan(ShopWorld):
    def setUp(self):
        super().setUp()
        self.hedge.start_edge()
        self.told = self.create("feature/login")
        self.path = Path(self.told["workspace"]["path"])
        self.process = self.hedge.get(self.host(self.told)).json()["pid"]

    def drop_the_stack(self) -> None:
        """The branch goes on without processes, and keeps everything else."""
        before, stack = (self.path / "hedge.toml").read_text(encoding="utf-8").split("[stack]")
        after = stack[stack.index("[database]"):]
        (self.path / "hedge.toml").write_text(f'{before}[stack]\nruntime = "none"\n{after}', encoding="utf-8")

    def replace(self, old: str, new: str) -> None:
        file = self.path / "hedge.toml"
        file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    def routes(self) -> list[str]:
        return [route["host"] for route in self.json("route", "ls")["routes"]]

    def test_K09_down_stops_what_runs_although_the_branch_has_no_stack_any_more(self):
        self.drop_the_stack()
        told = self.contract("down", "feature/login")
        self.assertEqual([change["resource"] for change in told["changes"]], ["stack"])
        self.assertFalse(self.is_running(self.process))

    def test_K09_create_ends_a_stack_and_its_route_that_nobody_asks_for(self):
        self.drop_the_stack()
        told = self.contract("create", "feature/login", expect=None)
        self.assertEqual({(change["resource"], change["action"]) for change in told["changes"]},
                         {("stack", "stopped"), ("route", "removed")})
        self.assertFalse(self.is_running(self.process))
        self.assertEqual(self.routes(), [])
        self.assertEqual(self.contract("create", "feature/login", expect=None)["changes"], [], "once is enough")

    def test_K09_create_removes_the_environment_file_of_the_former_name(self):
        self.replace("[env.variables]", '[env]\nfile = ".env.local"\n[env.variables]')
        self.assertTrue((self.path / ".env.hedge").exists())
        self.create("feature/login")
        self.assertFalse((self.path / ".env.hedge").exists())
        self.assertTrue((self.path / ".env.local").exists())

    def test_K09_create_removes_the_route_of_the_former_hostname(self):
        self.replace('name = "shop"', 'name = "shop"\nhost = "{slug}.{app}.localhost"')
        self.create("feature/login")
        self.assertEqual(self.routes(), ["feature-login.shop.localhost"])

    def test_K09_the_database_of_a_branch_that_has_none_for_a_while_is_kept(self):
        self.note(self.host(self.told), "written before")
        whole = (self.path / "hedge.toml").read_text(encoding="utf-8")
        (self.path / "hedge.toml").write_text('[app]\nname = "shop"\n[stack]\nruntime = "none"\n', encoding="utf-8")
        self.contract("create", "feature/login", expect=None)
        (self.path / "hedge.toml").write_text(whole, encoding="utf-8")
        told = self.create("feature/login")
        self.assertEqual(self.notes(self.host(told)), ["written before"])
