"""Which address counts: nobody has more of them than they have, and nobody takes another's."""

from ipaddress import ip_network

import pytest

from qirsh.web.http.client_address import client_address

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
    ("peer", "forwarded_for", "client"),
    [
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
    ],
)
def test_the_last_address_that_is_no_proxy_of_ours_counts(peer: str, forwarded_for: bytes, client: str) -> None:
    assert client_address(peer, forwarded_for, PROXIES) == client_address(client, b"", ())
