"""`qirsh backup`, `restore` and `migrate-store`: everything the database holds, out and in."""
