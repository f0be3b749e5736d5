"""Accounts: the table of moves, and where a customer may be sent."""

from typing import Final, get_args

from qirsh.domain.account import Account, Kind, Mode, State, may_move, may_return_to, origin
from tests.each import each

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STATES: Final[tuple[State, ...]] = get_args(State)

# Written out again on purpose: whoever changes a move changes it in two places, knowingly.
ALLOWED: Final = {
    ("personal", "unverified", "verified"),
    ("personal", "unverified", "suspended"),
    ("personal", "unverified", "closed"),
    ("personal", "verified", "suspended"),
    ("personal", "verified", "closed"),
    ("personal", "suspended", "verified"),
    ("personal", "suspended", "closed"),
    ("commercial", "requested", "approved"),
    ("commercial", "requested", "rejected"),
    ("commercial", "approved", "suspended"),
    ("commercial", "approved", "closed"),
    ("commercial", "suspended", "approved"),
    ("commercial", "suspended", "closed"),
}


def an_account(*, kind: Kind = "commercial", state: State = "approved", origins: str = "") -> Account:
    mode: Mode = "test" if state == "mirrored" else "live"
    return Account(1, kind, mode, 1, 2 if mode == "test" else None, "Shop", state, origins, 0, 0)


@each("to", [*STATES, "", "APPROVED", "paid"])
@each("state", STATES)
@each("kind", KINDS)
def test_an_account_makes_the_moves_of_the_table_and_no_others(kind: Kind, state: State, to: str) -> None:
    assert may_move(an_account(kind=kind, state=state), to) == ((kind, state, to) in ALLOWED)


@each(
    ("url", "expected"),
    [
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("https://shop.example/back?order=1&x=%0d%0a#top", "https://shop.example"),
        ("https://shop.example:8443/back", "https://shop.example:8443"),
        ("https://shop.example:/back", "https://shop.example"),
        ("https://SHOP.Example/Back", "https://shop.example"),
        ("HTTPS://shop.example", "https://shop.example"),
        ("https://a.b.shop.example", "https://a.b.shop.example"),
        ("https://xn--mgbh0fb.example/", "https://xn--mgbh0fb.example"),
        ("https://192.0.2.7/back", "https://192.0.2.7"),
        ("https://[2001:db8::1]:8443/back", "https://[2001:db8::1]:8443"),
        ("https://shop.example?@evil.example", "https://shop.example"),
        ("https://shop.example#@evil.example", "https://shop.example"),
        ("https://shop.example/@evil.example", "https://shop.example"),
        ("http://localhost:3000/back", "http://localhost:3000"),
        ("http://localhost", "http://localhost"),
        ("http://127.0.0.1:8000/back", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/back", "http://[::1]:8000"),
    ],
)
def test_an_address_has_the_origin_that_a_browser_gives_it(url: str, expected: str) -> None:
    assert origin(url) == expected


@each(
    "url",
    [
        *("", " ", "/", "/back", "back", "?", "#", "shop.example", "shop.example/back", "https", "https:", "https://"),
        *("https:///evil.example", "https:/evil.example", "https:evil.example", "https://:443", "https://?x"),
        *("//evil.example", "///evil.example", "\\\\evil.example", "/\\evil.example", "https:\\\\evil.example"),
        *("https://shop.example\\@evil.example", "https://evil.example\\.shop.example", "https://evil.example\\"),
        *("javascript:alert(1)", "JavaScript:alert(1)", "javascript://shop.example/%0aalert(1)", "vbscript:x"),
        *("data:text/html,x", "data://shop.example/x", "blob:https://shop.example/x", "file:///etc/passwd"),
        *("ftp://shop.example", "ws://shop.example", "intent://shop.example", "about:blank", "mailto:a@b.example"),
        *("http://shop.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example"),
        *("http://127.1", "http://0.0.0.0", "http://2130706433", "http://[::ffff:127.0.0.1]", "http://localhost."),
        *("https://user@shop.example", "https://user:pass@shop.example", "https://@shop.example"),
        *("https://:@shop.example", "https://shop.example@evil.example", "https://shop.example:443@evil.example"),
        *("http://localhost@evil.example", "http://localhost:80@evil.example", "http://evil.example@localhost"),
        *("https://shop.example:65536", "https://shop.example:-1", "https://shop.example:+443"),
        *("https://shop.example:4_43", "https://shop.example:https", "https://shop.example:443:443"),
        *("https://shop.example:\u0664\u0664\u0663", "https://[::1", "https://::1]", "https://[shop.example]"),
        *("https://\u0645\u062a\u062c\u0631.example", "https://shop\u3002example", "https://sh\u043ep.example"),
        *("https://shop.example\u2044evil.example", "https://shop.example/\u00e9", "https://shop.example\u200b"),
        *("https://shop.example\r\nSet-Cookie: a=b", "https://shop.example/\r\n", "https://shop.example/\n"),
        *("https://shop.example/\r", "https://shop.example/\t", "ht\ntps://shop.example", "\nhttps://shop.example"),
        *("https://shop.example/\x00", "https://shop.example/\x7f", "https://shop.example/\x1b", "\x01https://a.b"),
        *(" https://shop.example", "https://shop.example ", "https://shop .example", "https://shop.example/a b"),
    ],
)
def test_an_address_that_is_not_plainly_a_web_page_has_no_origin(url: str) -> None:
    assert origin(url) is None


@each(
    ("url", "expected"),
    [
        ("https://shop.example/back", True),
        ("https://pay.shop.example:8443/back", True),
        ("https://SHOP.example/back", True),
        ("https://shop.example.evil.example/back", False),
        ("https://evil-shop.example/back", False),
        ("https://www.shop.example/back", False),
        ("https://shop.example:8443/back", False),
        ("https://pay.shop.example/back", False),
        ("http://shop.example/back", False),
        ("https://shop.example./back", False),
        ("https://evil.example/https://shop.example", False),
        ("javascript:alert(1)", False),
        ("None", False),
        ("", False),
    ],
)
def test_a_customer_is_sent_only_to_an_origin_on_the_list(url: str, expected: bool) -> None:  # noqa: FBT001
    account = an_account(origins="https://shop.example https://pay.shop.example:8443")
    assert may_return_to(account, url) is expected


@each("url", ["https://shop.example", "", "None", "javascript:alert(1)"])
def test_with_an_empty_list_a_customer_is_sent_nowhere(url: str) -> None:
    assert not may_return_to(an_account(origins=""), url)
