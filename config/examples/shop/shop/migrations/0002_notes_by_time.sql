CREATE INDEX notes_by_time ON notes (created_at, id);
