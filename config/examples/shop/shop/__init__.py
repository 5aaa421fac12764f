"""A small web application that shows which worktree, branch, database and cookie it serves."""
