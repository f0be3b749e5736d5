"""Requests to addresses that others chose: where they may go, and one POST with its bounds. Knows the domain only."""
