"""Commands: every wish to change something, as frozen records, by what they are about."""
