"""The faces: HTTP in, commands and look-ups down, answers out. No rule lives here."""
