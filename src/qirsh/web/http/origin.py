"""Our own origin, as browsers write it."""

from functools import cache
from urllib.parse import urlsplit


@cache
def own_origin(base_url: str) -> bytes:
    """As a browser writes it: in small letters, without the port that goes without saying."""
    url = urlsplit(base_url.lower())
    port = {"https": ":443", "http": ":80"}[url.scheme]
    return f"{url.scheme}://{url.netloc.removesuffix(port)}".encode()
