"""Which addresses are public: those that no registry of special purposes names, and that hide no other inside.

The list is written out here, since what `ipaddress.is_global` says of several blocks differs from one Python to
another.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Networks = tuple[Network, ...]

# IANA's registries as of October 2025, with the names that stand there. Those that it calls globally reachable are
# refused too: they are anycast services of the network itself, and no shop is reached there. One of them, 192.0.0.9,
# opens ports in the nearest router.
SPECIAL_IPV4: Final[dict[str, str]] = {
    "0.0.0.0/8": "This network",
    "0.0.0.0/32": "This host on this network",
    "10.0.0.0/8": "Private-Use",
    "100.64.0.0/10": "Shared Address Space",
    "127.0.0.0/8": "Loopback",
    "169.254.0.0/16": "Link Local",
    "172.16.0.0/12": "Private-Use",
    "192.0.0.0/24": "IETF Protocol Assignments",
    "192.0.0.0/29": "IPv4 Service Continuity Prefix",
    "192.0.0.8/32": "IPv4 dummy address",
    "192.0.0.9/32": "Port Control Protocol Anycast",
    "192.0.0.10/32": "Traversal Using Relays around NAT Anycast",
    "192.0.0.170/32": "NAT64/DNS64 Discovery",
    "192.0.0.171/32": "NAT64/DNS64 Discovery",
    "192.0.2.0/24": "Documentation (TEST-NET-1)",
    "192.31.196.0/24": "AS112-v4",
    "192.52.193.0/24": "AMT",
    "192.88.99.0/24": "Deprecated (6to4 Relay Anycast)",
    "192.88.99.2/32": "6a44-relay anycast address",
    "192.168.0.0/16": "Private-Use",
    "192.175.48.0/24": "Direct Delegation AS112 Service",
    "198.18.0.0/15": "Benchmarking",
    "198.51.100.0/24": "Documentation (TEST-NET-2)",
    "203.0.113.0/24": "Documentation (TEST-NET-3)",
    "224.0.0.0/4": "Multicast",  # Has a registry of its own.
    "240.0.0.0/4": "Reserved",
    "255.255.255.255/32": "Limited Broadcast",
}
SPECIAL_IPV6: Final[dict[str, str]] = {
    "::1/128": "Loopback Address",
    "::/128": "Unspecified Address",
    "::/96": "IPv4-compatible (RFC 4291, deprecated)",
    "::ffff:0:0/96": "IPv4-mapped Address",
    "::ffff:0:0:0/96": "IPv4-translated (RFC 2765)",
    "64:ff9b:1::/48": "IPv4-IPv6 Translation, local use",
    "100::/64": "Discard-Only Address Block",
    "100:0:0:1::/64": "Dummy IPv6 Prefix",
    "2001::/23": "IETF Protocol Assignments",
    "2001::/32": "TEREDO",
    "2001:1::1/128": "Port Control Protocol Anycast",
    "2001:1::2/128": "Traversal Using Relays around NAT Anycast",
    "2001:1::3/128": "DNS-SD Service Registration Protocol Anycast",
    "2001:2::/48": "Benchmarking",
    "2001:3::/32": "AMT",
    "2001:4:112::/48": "AS112-v6",
    "2001:10::/28": "Deprecated (previously ORCHID)",
    "2001:20::/28": "ORCHIDv2",
    "2001:30::/28": "Drone Remote ID Protocol Entity Tags (DETs) Prefix",
    "2001:db8::/32": "Documentation",
    "2002::/16": "6to4",
    "2620:4f:8000::/48": "Direct Delegation AS112 Service",
    "3fff::/20": "Documentation",
    "5f00::/16": "Segment Routing (SRv6) SIDs",
    "fc00::/7": "Unique-Local",
    "fe80::/10": "Link-Local Unicast",
    "fec0::/10": "Site-Local (RFC 3879, deprecated)",
    "ff00::/8": "Multicast",  # Has a registry of its own.
}
# All that was ever handed out to anybody. What lies outside is not public, whatever a later registry says of it.
GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
# A machine without IPv4 of its own reaches all of it through this prefix: such an address is what it contains.
NAT64: Final = IPv6Network("64:ff9b::/96")

_LOW_32_BITS: Final = 0xFFFF_FFFF
# The middle of an address whose end is an IPv4 address behind an ISATAP router (RFC 5214), with and without the bit
# that says that the IPv4 address is unique.
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
_BLOCKS_IPV4: Final = tuple(IPv4Network(block) for block in SPECIAL_IPV4)
_BLOCKS_IPV6: Final = tuple(IPv6Network(block) for block in SPECIAL_IPV6)


def is_public(address: Address) -> bool:
    """Whether it is anybody's on the internet, and not of this machine, this network or a protocol.

    Tunnels (6to4, Teredo) and mapped forms are refused whatever they contain: no receiver has only such an address. A
    NAT64 prefix of the operator's own cannot be known here.
    """
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _BLOCKS_IPV4)
    if address.scope_id is not None:
        return False
    if address in NAT64:
        return is_public(IPv4Address(int(address) & _LOW_32_BITS))
    if address not in GLOBAL_UNICAST or any(address in block for block in _BLOCKS_IPV6):
        return False
    if int(address) >> 32 & _LOW_32_BITS in _ISATAP:
        return is_public(IPv4Address(int(address) & _LOW_32_BITS))
    return True


def is_within(address: Address, networks: Networks) -> bool:
    """Whether it lies in a network that the operator named. An address with a zone lies in none."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    return any(address in network for network in networks)
