"""The one way a release is refused."""


class ReleaseRefused(Exception):
    """Nothing was made; the message says why and what to do."""
