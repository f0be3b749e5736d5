"""The SQLite engine: one file, one writing process."""
