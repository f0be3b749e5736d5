"""The JSON calls."""
