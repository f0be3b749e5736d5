"""Invariants of the books, checked whole and in steps, and the hash chain over them."""
