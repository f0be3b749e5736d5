"""Which Host a request may name: that of the service's own address, or this machine where the client is on it."""

from functools import cache, lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from qirsh.web.http.client_address import is_loopback


@lru_cache(maxsize=1024)
def is_own_host(host: bytes, peer: str, base_url: str) -> bool:
    """Whatever port it names: a proxy may listen on another."""
    own, named = urlsplit(base_url).hostname or "", _name(host)
    return named == own or _is_any(own) or (is_loopback(peer) and (named == "localhost" or is_loopback(named)))


@cache
def is_own_machine(base_url: str) -> bool:
    """Whether the service is reached from nowhere else: a developer's."""
    url = urlsplit(base_url)
    return url.scheme == "http" and (url.hostname == "localhost" or is_loopback(url.hostname or ""))


def _name(host: bytes) -> str:
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname or ""
    except ValueError:
        return ""


def _is_any(own: str) -> bool:
    """It listens on every address of the machine and was not told its name."""
    try:
        return ip_address(own).is_unspecified
    except ValueError:
        return False
