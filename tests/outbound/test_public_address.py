"""Which addresses are public, by the edges of every block of the registries and by what other forms contain."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qirsh.outbound.public_address import (
    GLOBAL_UNICAST,
    SPECIAL_IPV4,
    SPECIAL_IPV6,
    Address,
    Network,
    is_public,
    is_within,
)

BLOCKS = {text: ip_network(text) for text in (*SPECIAL_IPV4, *SPECIAL_IPV6)}
PUBLIC_IPV4 = (
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "223.255.255.255",
)
PUBLIC_IPV6 = ("2606:4700::1111", "2a00:1450:4001:81b::200e", "2001:200::1", "2000::", "3ffe:ffff::1", "2003::")


def edges(block: Network) -> Iterator[Address]:
    """The first and the last address, and the middle."""
    first, last = block[0], block[-1]
    yield from (first, last, ip_address(type(first)((int(first) + int(last)) // 2)))


def neighbours(block: Network) -> Iterator[Address]:
    """Those just outside."""
    kind, last_of_all = (IPv4Address, 2**32 - 1) if block.version == 4 else (IPv6Address, 2**128 - 1)
    for number in (int(block[0]) - 1, int(block[-1]) + 1):
        if 0 <= number <= last_of_all:
            yield kind(number)


def test_the_edges_of_every_special_block_are_not_public(subtests: pytest.Subtests) -> None:
    for text, own in BLOCKS.items():
        with subtests.test(text):
            assert [address for address in edges(own) if is_public(address)] == []


def test_what_lies_beside_a_special_block_is_public_unless_another_block_names_it(subtests: pytest.Subtests) -> None:
    for text, own in BLOCKS.items():
        with subtests.test(text):
            for address in neighbours(own):
                is_special = any(address in block for block in BLOCKS.values())
                is_handed_out = address.version == 4 or address in GLOBAL_UNICAST
                assert is_public(address) == (is_handed_out and not is_special), address


def test_usual_addresses_are_public(subtests: pytest.Subtests) -> None:
    for text in [*PUBLIC_IPV4, *PUBLIC_IPV6]:
        with subtests.test(str(text)):
            assert is_public(ip_address(text))


def test_what_leads_inwards_by_any_form_is_not_public(subtests: pytest.Subtests) -> None:
    for text in [
        *("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "255.255.255.255", "224.0.0.1"),  # noqa: S104 - nobody listens there
        *("::1", "::", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "4000::1", "e000::1", "200::1", "1::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "::127.0.0.1", "::8.8.8.8"),
        *("64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "64:ff9b:0:0:0:1:808:808"),
        *("2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"),
        "2001:0:0a00:1::f7f7:f7f7",  # Teredo: the server 10.0.0.1, the client 8.8.8.8.
        "2001:0:808:808::80ff:fffe",  # Teredo: the server 8.8.8.8, the client 127.0.0.1.
        *("2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1"),
        *("fe80::1%eth0", "2606:4700::1111%1"),
    ]:
        with subtests.test(str(text)):
            assert not is_public(ip_address(text))


def test_a_translated_address_is_as_public_as_what_it_contains(subtests: pytest.Subtests) -> None:
    for text in ["64:ff9b::8.8.8.8", "2606:4700::5efe:8.8.8.8", "2606:4700::200:5efe:8.8.8.8"]:
        with subtests.test(str(text)):
            assert is_public(ip_address(text))


@given(st.ip_addresses(v=4))
@example(IPv4Address("127.0.0.1"))
@example(IPv4Address("8.8.8.8"))
def test_no_form_makes_an_inner_address_public(inner: Address) -> None:
    number = int(inner)
    for prefix in ("64:ff9b::", "2606:4700::5efe:0:0", "2606:4700::200:5efe:0:0"):
        assert is_public(IPv6Address(int(IPv6Address(prefix)) + number)) == is_public(inner)
    forms = ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b:1::", "2001:0:808:808::")
    assert not any(is_public(IPv6Address(int(IPv6Address(prefix)) + number)) for prefix in forms)
    assert not is_public(IPv6Address(0x2002 << 112 | number << 80 | 1))


@given(st.ip_addresses())
def test_what_python_itself_calls_private_is_never_public(address: Address) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert not is_public(address) or address in IPv6Network("64:ff9b::/96")


def test_the_networks_of_the_operator_are_taken_literally(subtests: pytest.Subtests) -> None:
    for text, is_inside in [
        ("10.1.2.3", True),
        ("10.2.0.0", False),
        ("fd00::1", True),
        ("fd00::1%eth0", False),
        ("::ffff:10.1.2.3", False),
        ("8.8.8.8", False),
    ]:
        with subtests.test(f"{text!r} {is_inside!r}"):
            networks = (IPv4Network("10.1.0.0/16"), IPv6Network("fd00::/64"))
            assert is_within(ip_address(text), networks) == is_inside
            assert not is_within(ip_address(text), ())
