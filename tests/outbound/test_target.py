"""URLs that webhooks may go to, and the spellings by which others have led requests inwards."""

from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.outbound.public_address import is_public
from qirsh.outbound.target import Target, UrlFault, read_target

OWN = (IPv4Network("127.0.0.0/8"), IPv4Network("10.0.0.0/8"), IPv6Network("::1/128"))


def read(url: str) -> Target:
    target = read_target(url)
    assert isinstance(target, Target), target
    return target


def test_a_plain_address_is_taken_apart(subtests: pytest.Subtests) -> None:
    for url, host, port, head in [
        ("https://shop.example/hooks", "shop.example", 443, "POST /hooks HTTP/1.1\r\nhost: shop.example\r\n"),
        ("HTTPS://Shop.Example", "shop.example", 443, "POST / HTTP/1.1\r\nhost: shop.example\r\n"),
        ("https://shop.example:443/", "shop.example", 443, "POST / HTTP/1.1\r\nhost: shop.example\r\n"),
        ("https://shop.example:8443?a=1", "shop.example", 8443, "POST /?a=1 HTTP/1.1\r\nhost: shop.example:8443\r\n"),
        ("https://shop.example/a/../b?x[]=%20", "shop.example", 443, None),
        ("https://8.8.8.8/", "8.8.8.8", 443, "POST / HTTP/1.1\r\nhost: 8.8.8.8\r\n"),
        ("https://[2606:4700:0::1111]:8443/", "2606:4700::1111", 8443, None),
        ("https://[2606:4700::1111]/", "2606:4700::1111", 443, "POST / HTTP/1.1\r\nhost: [2606:4700::1111]\r\n"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, None),
        ("https://متجر.example/", "xn--pgbep1f.example", 443, None),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, None),
        (
            "https://shop.example/طلب",
            "shop.example",
            443,
            "POST /%D8%B7%D9%84%D8%A8 HTTP/1.1\r\nhost: shop.example\r\n",
        ),
        ("https://a_b.shop-1.example/~x;y=(z)", "a_b.shop-1.example", 443, None),
        ("https://1.2.3.example/", "1.2.3.example", 443, None),
        ("https://0x7f.example/", "0x7f.example", 443, None),
    ]:
        with subtests.test(f"{url!r} {host!r}"):
            target = read(url)
            assert (target.host, target.port, target.is_tls, target.is_own_only) == (host, port, True, False)
            assert head is None or target.request_head.decode() == head
            assert read(target.url) == target


REFUSED = {
    "scheme": [
        *("http://shop.example/", "ftp://shop.example/", "file:///etc/passwd", "//shop.example", "", "shop.example"),
        *("https:/shop.example", "https:shop.example", "javascript:alert(1)"),
    ],
    "userinfo": [
        *("https://a@shop.example/", "https://a:b@shop.example/", "https://@shop.example/"),
        *("https://8.8.8.8:443@127.0.0.1/", "https://shop.example:443%40@x/"),
    ],
    "fragment": ["https://shop.example/#a", "https://shop.example#@127.0.0.1/", "https://shop.example/?#"],
    "port": [
        f"https://shop.example{port}/"
        for port in (":22", ":80", ":", ":0443", ":99999", ":443:443", ":0", ":-1", ":\u0664\u0664\u0663", ":443a")
    ],
    "host": [
        *("https:///", "https://", "https://:443/", "https://./", "https://.example/", "https://a..b/", "https://*/"),
        *("https://shop.example./", "https://8.8.8.8./", "https://localhost./", "https://a%2eb/", "https://a,b/"),
        *(
            "https://-a.example/",
            "https://a-.example/",
            f"https://{'a' * 64}.example/",
            f"https://{'a.' * 130}example/",
        ),
        *("https://[2606:4700::1111/", "https://[2606:4700::1111]x/", "https://[2606:4700::1111]443/"),
        *(
            f"https://[{host}]/"
            for host in ("", ":", "fe80::1%25eth0", "2606:4700::1%1", "v1.a", "127.0.0.1", "2606::1::2", "::1]")
        ),
        # Numbers in other clothes.
        *(f"https://{host}/" for host in ("0x7f.1", "2130706433", "127.1", "0177.0.0.1", "0x7f000001", "0x", "0X7F.1")),
        *(f"https://{host}/" for host in ("127.0.0.01", "1.2.3.4.5", "256.1.1.1", "8.8.8", "a.0x1", "a.1", "a.0")),
        # Other letters and dots that become usual ones.
        *(
            "https://\uff11\uff12\uff17.0.0.1/",
            "https://127\u30020\u30020\u30021/",
            "https://\u2460\u2461\u2466.0.0.1/",
        ),
        *("https://localho\u017ft/", "https://\u24d4xample.com/", "https://stra\u00dfe.example/", "https://a\uff0eb/"),
        *("https://a\u034fb.example/", "https://a\ufe0fb.example/", "https://a\u3002b/", "https://a\u2044b.example/"),
    ],
    "address": [
        f"https://{host}/"
        for host in (
            *("127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::]", "[fe80::1]"),
            *("[::ffff:127.0.0.1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]"),
        )
    ],
    "characters": [
        *(f"https://shop.example/{sign}" for sign in (" ", "\t", "\r\nx: y", "\0", "\x7f", "\\", '"', "<", "%", "%g0")),
        *(f"https://shop{sign}.example/" for sign in ("\t", "\n", "\u200b", "\u202e", "\u00ad", "\u3000", "\\", " ")),
        *(" https://shop.example/", "https://shop.example/\n", "https://shop.example/\ud800"),
    ],
    "too_long": [f"https://shop.example/{'a' * 2028}", f"https://shop.example/{'ä' * 400}"],
}


def test_whatever_is_not_plainly_right_is_refused(subtests: pytest.Subtests) -> None:
    for url, fault in [(url, fault) for fault, urls in REFUSED.items() for url in urls]:
        with subtests.test(f"{url!r} {fault!r}"):
            assert read_target(url) == UrlFault(fault)


def test_the_longest_address_is_taken() -> None:
    assert len(read("https://shop.example/" + "a" * 2027).url) == 2048


def test_plain_http_and_other_ports_are_for_the_operators_networks(subtests: pytest.Subtests) -> None:
    for url, outcome in [
        ("http://127.0.0.1:3000/hooks", True),
        ("http://[::1]/", True),
        ("https://10.1.2.3:9000/", True),
        ("https://10.1.2.3/", False),
        ("http://shop.internal:3000/", True),  # The guard will want an own address.
        ("https://shop.example/", False),
        ("http://8.8.8.8/", UrlFault.ADDRESS),
        ("https://8.8.8.8:22/", UrlFault.ADDRESS),
        ("http://192.168.0.1/", UrlFault.ADDRESS),
        ("http://[::ffff:127.0.0.1]/", UrlFault.ADDRESS),
        ("http://2130706433/", UrlFault.HOST),
        ("ftp://127.0.0.1/", UrlFault.SCHEME),
    ]:
        with subtests.test(f"{url!r} {outcome!r}"):
            target = read_target(url, networks=OWN)
            assert (target.is_own_only if isinstance(target, Target) else target) == outcome


def test_targets_share_an_origin_by_scheme_host_and_port_only() -> None:
    first, second = read("https://Shop.example/a"), read("https://shop.example:443/b?c")
    assert first.origin == second.origin
    others = ("https://shop.example:8443/a", "https://www.shop.example/a")
    assert first.origin not in {read(url).origin for url in others}


@given(st.text(alphabet="htps:/.@#?[]0127x%\\ \t\r\nae\u3002\uff11", max_size=40))
def test_no_text_gets_past_with_an_inner_address_or_a_second_line(rest: str) -> None:
    target = read_target("https://" + rest)
    if isinstance(target, Target):
        assert target.request_head.count(b"\r\n") == 2
        assert target.request_head.count(b" ") == 3
        assert target.address is None or is_public(ip_address(target.host))
        assert read(target.url) == target
