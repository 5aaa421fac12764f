"""Where a worktree's cookies live: at a hostname and under names that no other worktree has."""

import unittest
from urllib.parse import urlsplit

from shop_world import ShopWorld, prepare

__all__ = ["prepare", "CookiePlaces"]


class CookiePlaces(ShopWorld):
    def setUp(self):
        super().setUp()
        self.without_stack()

    def test_C05_each_worktree_is_told_a_hostname_of_its_own_and_never_a_port_of_localhost(self):
        self.hedge.start_edge()
        apps = [self.create(branch)["app"] for branch in ("feature/one", "feature/two")]
        hosts = [app["hostnames"][0] for app in apps]
        for app, host in zip(apps, hosts):
            # Without a stack there is nothing to go to.
            self.assertIn(app["url"] and urlsplit(app["url"]).hostname, (None, host))
            # Cookies ignore ports; a bare localhost would be everybody's, and no cookie has a single label for its domain.
            self.assertTrue(host.endswith(".localhost"), host)
            self.assertGreaterEqual(len(host.split(".")), 3, host)
        # Neither is above the other, so that no Domain of the one reaches the other without reaching all.
        self.assertFalse(hosts[0].endswith(hosts[1]) or hosts[1].endswith(hosts[0]), hosts)

    def test_C01_no_cookie_of_one_worktree_has_the_name_of_anothers(self):
        names = [set(self.create(branch)["app"]["cookies"].values()) for branch in ("feature/one", "feature/two")]
        self.assertTrue(all(len(own) >= 3 for own in names), names)
        self.assertEqual(names[0] & names[1], set())


if __name__ == "__main__":
    unittest.main()
