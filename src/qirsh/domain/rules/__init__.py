"""What each command needs and what becomes of it, grouped by noun. A rule checks all before it changes anything."""
