"""Which address a call comes from: the other end of the connection, unless that is a proxy that we were told of."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Networks = tuple[IPv4Network | IPv6Network, ...]
Address = IPv4Address | IPv6Address

_NETWORK_BYTES: Final = 8  # Of an IPv6 address: one client has all addresses of a /64.
_WIDE_NETWORK_BYTES: Final = {0: 0, 4: 3, 8: 6}  # By the bytes of what a client cannot change.
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NOBODY: Final = b""  # A line without addresses, such as a Unix socket.


def client_address(peer: str, forwarded_for: bytes, proxies: Networks) -> bytes:
    """What one client cannot change at will: its IPv4 address, or the /64 of its IPv6 address."""
    address = whole_address(peer, forwarded_for, proxies)
    if address is None:
        return _NOBODY
    return address.packed if address.version == 4 else address.packed[:_NETWORK_BYTES]  # noqa: PLR2004 - IPv4


def whole_address(peer: str, forwarded_for: bytes, proxies: Networks) -> Address | None:
    """The client's; None where a line has none, such as a Unix socket.

    Anybody can send any X-Forwarded-For. What counts is the part that our own proxies have added, at its end.
    """
    address = _read(peer)
    if address is not None and proxies and forwarded_for:
        for hop in reversed(forwarded_for.decode("latin-1").split(",")):
            if not is_address_among(address, proxies):
                break
            hop_address = _read(_without_port(hop.strip()))
            if hop_address is None:
                break  # A proxy that does not tell an address is the last that we know.
            address = hop_address
    return address


def parse_networks(texts: list[str]) -> Networks | None:
    """Addresses and networks as people write them; None if one of them is none.

    IPv4 inside of IPv6 is none: such clients are told by their IPv4 address, so nothing would ever be of it. A zone
    (`%eth0`) means something on one machine only.
    """
    if any("%" in text for text in texts):
        return None
    try:
        networks = tuple(ip_network(text) for text in texts)
    except ValueError:
        return None
    is_mapped = any(isinstance(network, IPv6Network) and network.subnet_of(_MAPPED) for network in networks)
    return None if is_mapped else networks


def network_of(address: bytes) -> bytes:
    """The network that an address as above is of: a /24 of IPv4, or a /48 of IPv6. Providers give out as much."""
    return address[: _WIDE_NETWORK_BYTES[len(address)]]


def is_among(peer: str, networks: Networks) -> bool:
    """Whether the address is of one of them."""
    address = _read(peer) if networks else None
    return address is not None and is_address_among(address, networks)


def is_address_among(address: Address, networks: Networks) -> bool:
    """The same, of one that was read."""
    return any(address in network for network in networks)


def is_loopback(peer: str) -> bool:
    """Whether it is this machine."""
    address = _read(peer)
    return address is not None and address.is_loopback


def _read(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # A listener for both kinds tells of IPv4 clients in this way.
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _without_port(hop: str) -> str:
    """Some proxies write the port as well."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    host, _, port = hop.partition(":")
    return host if port.isdigit() and "." in host else hop
