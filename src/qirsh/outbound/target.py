"""Where a webhook goes: a URL taken apart and judged, with one reading of it for the check and for the dial.

No general parser of URLs is asked: they drop tabs, forgive backslashes and differ about userinfo, and each difference
has been somebody's way in. What is not plainly right is refused.
"""

import enum
import re
import unicodedata
from encodings.idna import ToASCII, ToUnicode
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import quote

import msgspec

from qirsh.domain import limits
from qirsh.outbound.public_address import Address, Networks, is_public, is_within

PORTS: Final = frozenset({443, 8443})
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_PORT_MAX: Final = 65_535

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?]*)(/[^?]*)?(\?.*)?", re.DOTALL)
_AUTHORITY: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
# What RFC 3986 has in paths and queries, and brackets, which many write into queries.
_SIGNS: Final = "/?:@!$&'()*+,;=-._~[]"
_RESOURCE: Final = re.compile(rf"(?:[A-Za-z0-9{re.escape(_SIGNS)}]|%[0-9A-Fa-f]{{2}})*")
# With an underscore: it is no host name by the letter, and names of containers have it.
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# The C library takes a host that ends so for an address: 0x7f.1, 2130706433, 127.1, 0177.0.0.1.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NAME_CHARACTERS_MAX: Final = 253


class UrlFault(enum.StrEnum):
    """Why a URL is no place for webhooks."""

    TOO_LONG = "too_long"
    CHARACTERS = "characters"  # Controls, blanks, backslashes, or a percent sign that encodes nothing.
    SCHEME = "scheme"  # Not https, or http where the operator has named no network.
    USERINFO = "userinfo"
    FRAGMENT = "fragment"
    HOST = "host"
    PORT = "port"
    ADDRESS = "address"  # It is one, and not public.


class Target(msgspec.Struct, frozen=True):
    """One place that may be dialled, once its name has been looked up and checked."""

    url: str  # In ASCII, as it is sent.
    origin: str  # Scheme, host and port: who shares it may share a connection.
    is_tls: bool
    host: str  # A name in ASCII and small letters, or an address without brackets.
    port: int
    address: Address | None  # If the host is one.
    is_own_only: bool  # Plain http, or another port: only for networks that the operator named.
    request_head: bytes  # The request line and the host field.


def read_target(url: str, *, networks: Networks = ()) -> Target | UrlFault:
    """The target of a URL, or what is wrong with it. The networks are those that the operator opened."""
    parts = _split(url)
    if isinstance(parts, UrlFault):
        return parts
    scheme, authority, resource = parts
    if scheme == "http" and not networks:
        return UrlFault.SCHEME
    place = _read_authority(authority, _DEFAULT_PORTS[scheme])
    if isinstance(place, UrlFault):
        return place
    host, port = place
    is_own_only = scheme == "http" or port not in PORTS
    if is_own_only and not networks:
        return UrlFault.PORT
    address = None if isinstance(host, str) else host
    if address is not None and not may_dial(address, networks=networks, is_own_only=is_own_only):
        return UrlFault.ADDRESS
    shown = f"[{host}]" if isinstance(host, IPv6Address) else str(host)
    field = shown if port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}"
    whole = f"{scheme}://{field}{resource}"
    if len(whole) > limits.URL_CHARACTERS_MAX:
        return UrlFault.TOO_LONG
    return Target(
        url=whole,
        origin=f"{scheme}://{shown}:{port}",
        is_tls=scheme == "https",
        host=str(host),
        port=port,
        address=address,
        is_own_only=is_own_only,
        request_head=f"POST {resource} HTTP/1.1\r\nhost: {field}\r\n".encode("ascii"),
    )


def may_dial(address: Address, *, networks: Networks, is_own_only: bool) -> bool:
    """Whether it is public, or the operator's own where only that will do."""
    return is_within(address, networks) or (not is_own_only and is_public(address))


def _split(url: str) -> tuple[str, str, str] | UrlFault:
    """Scheme, authority, and path with query."""
    if len(url) > limits.URL_CHARACTERS_MAX:
        return UrlFault.TOO_LONG
    if not url.isprintable() or " " in url or "\\" in url:
        return UrlFault.CHARACTERS
    if "#" in url:
        return UrlFault.FRAGMENT
    parts = _URL.fullmatch(url)
    if parts is None or parts[1].lower() not in _DEFAULT_PORTS:
        return UrlFault.SCHEME
    resource = _read_resource((parts[3] or "/") + (parts[4] or ""))
    return UrlFault.CHARACTERS if resource is None else (parts[1].lower(), parts[2], resource)


def _read_authority(text: str, default_port: int) -> tuple[str | Address, int] | UrlFault:
    if "@" in text:
        return UrlFault.USERINFO
    parts = _AUTHORITY.fullmatch(text)
    if parts is None:
        return UrlFault.HOST if "[" in text or ":" not in text else UrlFault.PORT
    port = int(parts[2] or default_port)
    if port > _PORT_MAX:
        return UrlFault.PORT
    host = _read_host(parts[1])
    return UrlFault.HOST if host is None else (host, port)


def _read_host(text: str) -> str | Address | None:
    if text.startswith("["):
        try:
            return None if "%" in text else IPv6Address(text[1:-1])
        except AddressValueError:
            return None
    name = _ascii_name(text)
    if name is None or _NUMBER.fullmatch(name.rpartition(".")[2]) is None:
        return name
    try:
        return IPv4Address(name)
    except AddressValueError:
        return None


def _ascii_name(text: str) -> str | None:
    """The name as it is looked up; None if it is none, or not the only way to write it."""
    labels = [_ascii_label(label) for label in text.lower().split(".")]
    name = ".".join(label or "" for label in labels)
    return name if all(labels) and len(name) <= _NAME_CHARACTERS_MAX else None


def _ascii_label(label: str) -> str | None:
    if not label.isascii():
        # Python knows the older IDNA, which makes "ss" of a sharp s and drops what is not seen: another name than
        # browsers would ask for. What does not come back the same is refused; its owner can write the xn-- form.
        if any(unicodedata.category(sign)[0] not in "LMN" for sign in label if not sign.isascii()):
            return None
        try:
            encoded = ToASCII(label).decode("ascii")
            if ToUnicode(encoded) != label:
                return None
        except UnicodeError:
            return None
        label = encoded
    return label if _LABEL.fullmatch(label) else None


def _read_resource(text: str) -> str | None:
    """Path and query as they are sent: letters beyond ASCII are encoded, as browsers do."""
    encoded = quote(text, safe=_SIGNS + "%") if not text.isascii() else text
    return encoded if _RESOURCE.fullmatch(encoded) else None
