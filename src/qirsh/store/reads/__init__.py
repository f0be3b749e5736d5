"""Reads beside the one door for writes, in SQL that both engines speak."""
