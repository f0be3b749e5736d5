"""The rules. Pure: no I/O, no clock, no randomness, no async; whatever varies is an argument."""
