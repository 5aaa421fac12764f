"""Routes made by hand, with the edge up and down."""

import json
import socket
import sqlite3
import subprocess
import sys
import unittest

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.child_process import ChildProcess

__all__ = ["prepare", "Routes"]

UPSTREAM = ("import http.server,sys\n"
            "class H(http.server.BaseHTTPRequestHandler):\n"
            " def do_GET(self):\n"
            "  body=sys.argv[2].encode()\n"
            "  self.send_response(200); self.send_header('Content-Length',str(len(body))); self.end_headers(); self.wfile.write(body)\n"
            "http.server.HTTPServer(('127.0.0.1',int(sys.argv[1])),H).serve_forever()\n")


class Routes(ProgramWorld):
    def upstream(self, port: int, text: str) -> None:
        child = ChildProcess([sys.executable, "-c", UPSTREAM, str(port), text], self.directory / f"{port}.log")
        self.addCleanup(child.stop)
        bounded_wait.until(lambda: subprocess.run(["curl", "-sf", f"http://127.0.0.1:{port}/"], capture_output=True,
                                                  check=False).returncode == 0, 15, "the upstream listens")

    def hosts(self) -> list[str]:
        return [route["host"] for route in self.json("route", "ls")["routes"]]

    def change_store(self, statement: str) -> None:
        database = sqlite3.connect(self.hedge.state / "routes.db")
        with database:
            database.execute(statement)
        database.close()

    def test_with_the_edge_down_a_route_is_kept_for_its_start(self):
        told = self.json("route", "add", "alpha.localhost", "tcp:127.0.0.1:9001")
        self.assertEqual(told["edge"], "not_running")
        self.assertEqual(told["route"], {"host": "alpha.localhost", "wildcard": False, "upstream": "tcp:127.0.0.1:9001",
                                         "protocol": "http1", "worktree": "", "state": "live"})
        self.assertEqual(self.hosts(), ["alpha.localhost"])
        self.upstream(9001, "one")
        self.hedge.start_edge()
        self.assertEqual(self.hedge.get("alpha.localhost").body, b"one")

    def test_with_the_edge_up_changes_are_served_at_once(self):
        self.upstream(9001, "one")
        self.upstream(9002, "two")
        self.hedge.start_edge()
        self.assertEqual(self.hedge.get("alpha.localhost").status, 404)
        self.assertEqual(self.json("route", "add", "alpha.localhost", "9001")["edge"], "told")
        self.assertEqual(self.hedge.get("alpha.localhost").body, b"one")
        self.hedge.run("route", "add", "alpha.localhost", "9002")
        bounded_wait.until(lambda: self.hedge.get("alpha.localhost").body == b"two", 1, "the new upstream")
        self.assertTrue(self.json("route", "rm", "alpha.localhost")["removed"])
        self.assertEqual(self.hedge.get("alpha.localhost").status, 404)

    def test_bare_forms_are_accepted_and_explained_on_standard_error(self):
        for given, taken in (("9001", "tcp:127.0.0.1:9001"), ("localhost:9001", "tcp:127.0.0.1:9001"),
                             ("192.0.2.1:80", "tcp:192.0.2.1:80"), ("app:80", "dns:app:80")):
            done = self.hedge.run("route", "add", "alpha.localhost", given)
            self.assertIn(f'taking "{given}" as {taken}', done.stderr)
            self.assertEqual(done.stdout, f"alpha.localhost  {taken}\n")
        done = self.hedge.run("route", "add", "alpha.localhost", "dns:app:80")
        self.assertNotIn("taking", done.stderr)

    def test_T17_a_host_that_the_ca_may_not_sign_for_is_told_when_the_route_is_made_and_when_it_is_used(self):
        self.hedge.start_edge()
        self.assertEqual(self.json("route", "add", "alpha.localhost", "9001")["warnings"], [])
        told = self.json("route", "add", "app.example.com", "9001")
        self.assertEqual([warning["id"] for warning in told["warnings"]], ["ca_suffix_missing"])
        self.assertIn("no TLS for app.example.com", self.hedge.run("route", "add", "app.example.com", "9001").stderr)
        self.assertIn("no TLS for app.example.com", " ".join(self.json("edge", "status")["warnings"]))
        root = self.directory / "root.pem"
        root.write_text(self.hedge.run("ca", "export").stdout)
        self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", "app.example.com",
                     "-CAfile", root, "-verify_return_error", expect=1)
        bounded_wait.until(lambda: "may not sign for the name" in self.hedge.edge_log(), 10, "the log says it")
        self.assertIn("app.example.com", self.hedge.edge_log())
        self.assertNotIn("does not trust this CA", self.hedge.edge_log())

    def test_wildcard_and_protocol_are_kept(self):
        told = self.json("route", "add", "Alpha.Localhost.", "unix:/run/app.sock", "--wildcard", "--protocol", "h2c")
        self.assertEqual((told["route"]["host"], told["route"]["wildcard"], told["route"]["protocol"]),
                         ("alpha.localhost", True, "h2c"))
        self.assertIn("alpha.localhost (and below)", self.hedge.run("route", "ls").stdout)

    def test_bad_input_is_a_usage_error_by_id_and_stores_nothing(self):
        for identifier, *arguments in (
            ("host_invalid", "a..localhost", "9001"), ("host_invalid", "x" * 64 + ".localhost", "9001"),
            ("host_invalid", "a b", "9001"), ("upstream_invalid", "alpha.localhost", "tcp:999.0.0.1:80"),
            ("upstream_invalid", "alpha.localhost", "0"), ("upstream_invalid", "alpha.localhost", "dns:beta.localhost:80"),
            ("upstream_invalid", "alpha.localhost", "unix:relative"),
        ):
            self.refused(identifier, "route", "add", *arguments, expect=2)
        self.refused("usage_error", "route", "add", "alpha.localhost", "9001", "--protocol", "spdy", expect=2)
        self.assertEqual(self.hosts(), [])

    def test_removing_the_absent_is_success(self):
        self.assertFalse(self.json("route", "rm", "nobody.localhost")["removed"])
        done = self.hedge.run("route", "rm", "nobody.localhost")
        self.assertEqual(done.stdout, "")
        self.assertIn("there was no route for nobody.localhost", done.stderr)

    def test_a_worktrees_route_is_not_taken_by_hand(self):
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        self.change_store("UPDATE routes SET worktree = '01J0000000000000000000000A'")
        self.refused("route_conflict", "route", "add", "alpha.localhost", "9002", expect=4)
        self.refused("route_conflict", "route", "rm", "alpha.localhost", expect=4)
        self.assertEqual(self.json("route", "ls")["routes"][0]["upstream"], "tcp:127.0.0.1:9001")

    def test_one_unreadable_record_costs_one_route_and_is_named(self):
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        self.hedge.run("route", "add", "beta.localhost", "9002")
        self.change_store("UPDATE routes SET upstream = '?' WHERE host LIKE 'alpha%'")
        told = self.json("route", "ls")
        self.assertEqual([route["host"] for route in told["routes"]], ["beta.localhost"])
        self.assertEqual([record["host"] for record in told["unreadable"]], ["alpha.localhost"])
        self.assertIn('"alpha.localhost" cannot be read', self.hedge.run("route", "ls").stderr)

    def test_a_damaged_store_is_neither_changed_nor_taken_for_empty(self):
        self.hedge.state.mkdir()
        database = self.hedge.state / "routes.db"
        database.write_bytes(b"this is no database" * 400)
        before = database.read_bytes()
        for arguments in (("ls",), ("add", "alpha.localhost", "9001"), ("rm", "alpha.localhost")):
            self.refused("state_unreadable", "route", *arguments, expect=6)
        self.assertEqual(database.read_bytes(), before)

    def test_routes_of_the_settings_file_are_listed_while_the_edge_runs(self):
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        self.hedge.start_edge('\n[[routes]]\nhost = "fixed.localhost"\nupstream = "tcp:127.0.0.1:9003"\n')
        told = {route["host"]: route["stored"] for route in self.json("route", "ls")["routes"]}
        self.assertEqual(told, {"alpha.localhost": True, "fixed.localhost": False})

    def test_an_edge_that_does_not_tell_its_routes_is_named_and_the_store_is_listed(self):
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        silent = self.directory / "silent.sock"
        (self.hedge.state / "edge-control").write_text(f"{silent}\n")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(silent))
            listener.listen()
            done = self.hedge.run("route", "ls", "--json")
        self.assertIn("the routes of the edge's settings file are not listed", done.stderr)
        self.assertEqual([route["host"] for route in json.loads(done.stdout)["routes"]], ["alpha.localhost"])

    def test_a_host_of_the_settings_file_is_not_taken_by_hand(self):
        static = '\n[[routes]]\nhost = "fixed.localhost"\nupstream = "tcp:127.0.0.1:9003"\n'
        self.hedge.start_edge(static)
        self.refused("route_conflict", "route", "add", "fixed.localhost", "9001", expect=4)
        self.hedge.stop_edge()
        self.assertEqual(self.hosts(), [])
        # With the edge down the user-wide file counts, because the next edge starts with it.
        settings = self.hedge.home / ".config/hedge/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(static)
        self.refused("route_conflict", "route", "add", "fixed.localhost", "9001", expect=4)
        self.json("route", "add", "alpha.localhost", "9001")
        self.assertEqual(self.hosts(), ["alpha.localhost"])


if __name__ == "__main__":
    unittest.main()
