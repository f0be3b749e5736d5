"""Which address counts: nobody has more of them than they have, and nobody takes another's."""

from ipaddress import ip_network

import pytest

from qirsh.web.http.client_address import client_address, is_among, is_loopback, network_of

PROXIES = (ip_network("10.0.0.0/8"), ip_network("2001:db8:1::/48"))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "", True),
        ("", "192.0.2.1", False),
    ],
)
def test_an_ipv6_client_is_its_network_and_an_ipv4_client_its_address(one: str, other: str, *, is_same: bool) -> None:
    assert (client_address(one, b"", ()) == client_address(other, b"", ())) == is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.200", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("2001:db8:1::1", "2001:db8:1:ffff::1", True),
        ("2001:db8:1::1", "2001:db8:2::1", False),
        ("", "", True),
    ],
)
def test_addresses_next_to_each_other_are_of_one_network(one: str, other: str, *, is_same: bool) -> None:
    assert (network_of(client_address(one, b"", ())) == network_of(client_address(other, b"", ()))) == is_same


def test_this_machine_and_the_proxies_are_known_by_their_addresses() -> None:
    assert [peer for peer in ("127.0.0.1", "::1", "::ffff:127.9.0.1", "192.0.2.1", "", "x") if is_loopback(peer)] == [
        *("127.0.0.1", "::1", "::ffff:127.9.0.1")
    ]
    assert is_among("10.1.2.3", PROXIES)
    assert not is_among("192.0.2.1", PROXIES)
    assert not is_among("", PROXIES)


def test_the_last_address_that_is_no_proxy_of_ours_counts(subtests: pytest.Subtests) -> None:
    for peer, forwarded_for, client in [
        ("192.0.2.1", b"203.0.113.1", "192.0.2.1"),
        ("10.0.0.1", b"203.0.113.1", "203.0.113.1"),
        ("::ffff:10.0.0.1", b"203.0.113.1", "203.0.113.1"),
        ("10.0.0.1", b"", "10.0.0.1"),
        ("10.0.0.1", b"198.51.100.1, 203.0.113.1", "203.0.113.1"),
        ("10.0.0.1", b"198.51.100.1,203.0.113.1 , 10.2.2.2,2001:db8:1::5", "203.0.113.1"),
        ("10.0.0.1", b"203.0.113.1:4711", "203.0.113.1"),
        ("10.0.0.1", b"[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1", b"2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", b"198.51.100.1, unknown", "10.0.0.1"),
        ("10.0.0.1", b"198.51.100.1, \xff\xfe", "10.0.0.1"),
        ("10.0.0.1", b"198.51.100.1, unknown, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", b"10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", b",,,", "10.0.0.1"),
    ]:
        with subtests.test(peer=peer, forwarded_for=forwarded_for, client=client):
            assert client_address(peer, forwarded_for, PROXIES) == client_address(client, b"", ())
