"""The one way a bench fails. A missed target is no failure: timings are not tests."""


class BenchFailed(Exception):
    """A request was refused, a server died, or the books do not balance: the numbers would mean nothing."""
