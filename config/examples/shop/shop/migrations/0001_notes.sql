CREATE TABLE notes (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  worktree TEXT NOT NULL,
  created_at TEXT NOT NULL
);
