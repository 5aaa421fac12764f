"""Run with `hedge run -- /usr/bin/python3 -m unittest`, against the worktree's own test database."""

import unittest
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shop import settings as environment
from shop.store import Store


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.store = Store(environment.load(Path.cwd()).test_database_url)
        self.store.migrate()

    def test_a_note_that_was_added_is_listed(self):
        note = self.store.add("a chair", "here")
        self.assertIn(note, self.store.notes())

    def test_a_migrated_database_has_nothing_pending(self):
        self.assertEqual(self.store.pending_migrations(), [])
        self.assertEqual(self.store.migrate(), [])

    def test_text_that_looks_like_sql_is_kept_as_text(self):
        text = "'); DROP TABLE notes; --"
        self.store.add(text, "here")
        self.assertIn(text, [note.text for note in self.store.notes()])

    def test_without_an_environment_the_database_is_in_the_directory_whatever_its_name(self):
        url = environment.load(Path("/srv/c#1 50%41?"), {}).database_url
        self.assertEqual(unquote(urlsplit(url).path), "/srv/c#1 50%41?/data/shop.sqlite3")


if __name__ == "__main__":
    unittest.main()
