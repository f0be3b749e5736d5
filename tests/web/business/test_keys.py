"""API keys that are bound to networks, and keys that take the place of others."""

import html
import re
from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.limits import KEY_NETWORKS_MAX, RECENT_PROOF_MS
from qirsh.web.http.client_address import parse_networks
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, Call, InProcess, Merchant, World, create, refused
from tests.web.business.staff import join

SCOPES: Final = {"payments-read": "yes", "payments-write": "yes"}
KEY: Final = re.compile(r"qk_(?:live|test)_\w+")
PROXY: Final = parse_networks(["127.0.0.0/8"]) or ()


def pages_of(world: World) -> tuple[Guest, Merchant, str]:
    """An owner, and the address of their keys."""
    merchant = world.merchant()
    return Guest(world).signed_in(merchant.email), merchant, f"/business/{merchant.account}/keys"


def new_key(guest: Guest, path: str, **fields: str) -> str:
    guest.open(path)
    answer = guest.post(path, **{"name": "Till", "password": PASSWORD, **SCOPES, **fields})
    assert answer.status_code == 200, guest.text
    [key] = set(KEY.findall(guest.page))
    return str(key)


def id_of(world: World, key: str) -> str:
    with world.books() as books:
        [(found,)] = books.select("SELECT id FROM api_key WHERE hint = ? ORDER BY created_at DESC LIMIT 1", key[-4:])
    return str(found)


def me(key: str, forwarded_for: str = "") -> Call:
    return Call("GET", "/api/v1/me", key, headers=(("x-forwarded-for", forwarded_for),) if forwarded_for else ())


@pytest.fixture(params=["counted", "not counted"])
def proxied(still: InProcess, request: pytest.FixtureRequest) -> Iterator[InProcess]:
    """A service that believes what this machine says of its clients, with rate limits or without."""
    before = still.context
    limits = RateLimits(proxies=PROXY) if request.param == "counted" else None
    still.change(trusted_proxies=PROXY, limits=limits)
    yield still
    still.change(trusted_proxies=before.trusted_proxies, limits=before.limits)


def test_a_key_is_used_from_its_networks_and_from_nowhere_else(proxied: InProcess) -> None:
    still = proxied
    guest, _, path = pages_of(still)
    key = new_key(guest, path, networks="192.0.2.0/25\n2001:db8::7, 198.51.100.9")
    guest.open(path)
    for shown in ("192.0.2.0/25", "2001:db8::7/128", "198.51.100.9/32"):
        assert shown in guest.text
    for twice in range(2):  # Looked up, and remembered.
        for good in ("192.0.2.127", "2001:db8::7", "198.51.100.9", "::ffff:192.0.2.1", "203.0.113.1, 192.0.2.5"):
            assert still.send(me(key, good)).status_code == 200, (twice, good)
        for bad in ("192.0.2.128", "2001:db8::8", "203.0.113.1", "192.0.2.5, 203.0.113.1", "what"):
            problem = refused(still.send(me(key, bad)), 403, "address_not_allowed")
            assert bad.rpartition(", ")[2] in problem["detail"] or bad == "what"
        refused(still.send(me(key)), 403, "address_not_allowed")
        refused(still.send(create(key)), 403, "address_not_allowed")
        still.poll()


@pytest.mark.parametrize("proxied", ["counted"], indirect=True)
def test_who_uses_a_key_from_elsewhere_takes_nothing_from_its_owner(proxied: InProcess) -> None:
    still = proxied
    guest, _, path = pages_of(still)
    key = new_key(guest, path, networks="192.0.2.1")
    first = still.send(me(key, "192.0.2.1"))
    for _ in range(20):
        assert still.send(me(key, "203.0.113.77")).headers["ratelimit"].startswith('"address"')
    second = still.send(me(key, "192.0.2.1"))
    left = [int(each.headers["ratelimit"].partition("r=")[2].partition(";")[0]) for each in (first, second)]
    assert left[0] - left[1] <= 1


@pytest.mark.parametrize(
    ("networks", "says"),
    [
        ("192.0.2.1/24", "Each line must be an IP address"),  # It names a host in a network: which is meant?
        ("192.0.2.256", "Each line must be an IP address"),
        ("shop.example", "Each line must be an IP address"),
        ("::ffff:192.0.2.0/120", "Each line must be an IP address"),
        ("fe80::1%eth0", "Each line must be an IP address"),
        ("1" * 4000, "Each line must be an IP address"),
        (" ".join(f"192.0.2.{each}" for each in range(KEY_NETWORKS_MAX + 1)), "At most 20 addresses"),
    ],
)
def test_networks_that_are_none_are_told_beside_the_field_and_kept(still: InProcess, networks: str, says: str) -> None:
    guest, _, path = pages_of(still)
    guest.open(path)
    assert guest.post(path, name="Till", password=PASSWORD, networks=networks, **SCOPES).status_code == 422
    assert says in guest.text
    assert networks in html.unescape(guest.page)
    assert not KEY.search(guest.page)


def test_a_rotated_key_is_shown_once_and_the_old_one_works_for_as_long_as_was_chosen(still: InProcess) -> None:
    guest, merchant, path = pages_of(still)
    old = new_key(guest, path, networks="127.0.0.0/8", days="30")
    address = f"{path}/{id_of(still, old)}/rotate"
    guest.open(path)
    assert address in guest.page
    guest.open(address)
    call = guest.posting(address, overlap="24", password=PASSWORD)
    answer = guest.seen(still.send(call))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    [key] = set(KEY.findall(guest.page))
    assert key != old
    assert f'curl {still.settings.base_url}/api/v1/me \\\n  -H "Authorization: Bearer {key}"' in html.unescape(
        guest.page
    )
    assert "The old key works until" in guest.text
    with still.books() as books:
        rows = books.select(
            "SELECT name, scopes, networks, expires_at - created_at FROM api_key WHERE account = ? AND name = 'Till'",
            int(merchant.account),
        )
    assert len(rows) == 2
    day_ms = 24 * 3_600_000
    assert {row[:3] for row in rows} == {("Till", "payments:read payments:write", "127.0.0.0/8")}
    assert max(row[3] for row in rows) == 30 * day_ms
    again = guest.seen(still.send(call))
    assert again.status_code == 303
    guest.follow(again)
    assert "was already shown" in guest.text
    assert "A new key has taken its place" in guest.text
    assert key not in guest.page
    still.poll()
    assert [still.send(me(each)).status_code for each in (old, key)] == [200, 200]
    still.clock.advance(day_ms)
    assert [still.send(me(each)).status_code for each in (old, key)] == [401, 200]


def test_without_an_overlap_the_old_key_ends_before_the_answer(anywhere: World) -> None:
    guest, merchant, path = pages_of(anywhere)
    address = f"{path}/{merchant.key_id}/rotate"
    guest.open(address)
    call = guest.posting(address, overlap="0", password=PASSWORD)
    answers = anywhere.together([call] * 4)
    assert sorted(answer.status_code for answer in answers) == [200, 303, 303, 303]
    assert len({key for answer in answers for key in KEY.findall(answer.text)}) == 1
    assert anywhere.send(me(merchant.key)).status_code == 401


@pytest.mark.both_engines
def test_two_tabs_rotate_a_key_once(still: InProcess) -> None:
    guest, merchant, path = pages_of(still)
    address = f"{path}/{merchant.key_id}/rotate"
    calls = []
    for _ in range(2):
        guest.open(address)
        calls.append(guest.posting(address, overlap="1", password=PASSWORD))
    first, second = still.send(calls[0]), still.send(calls[1])
    assert (first.status_code, second.status_code) == (200, 303)
    guest.follow(guest.seen(second))
    assert "already replaced or revoked" in guest.text
    guest.open(address)
    assert "already replaced or revoked" in guest.text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"overlap": "169"}, "Choose one of these"),
        ({"overlap": ""}, "Choose one of these"),
        ({"password": "not the password"}, "Incorrect password"),
    ],
)
def test_no_key_is_rotated_by_a_form_with_faults(still: InProcess, fields: dict[str, str], says: str) -> None:
    guest, merchant, path = pages_of(still)
    still.clock.advance(RECENT_PROOF_MS + 1)
    guest.open(f"{path}/{merchant.key_id}/rotate")
    answer = guest.post(f"{path}/{merchant.key_id}/rotate", **{"overlap": "0", "password": PASSWORD, **fields})
    assert answer.status_code == 422
    assert says in guest.text
    assert still.send(me(merchant.key)).status_code == 200


def test_a_developer_makes_live_keys_that_neither_refund_nor_show_money(still: InProcess) -> None:
    boss, merchant, path = pages_of(still)
    strong = id_of(still, new_key(boss, path, **{"refunds-write": "yes"}))
    weak = id_of(still, new_key(boss, path))
    guest = join(still, merchant, "developer", boss)
    guest.open(path)
    boss.open(path)
    for box in ("refunds-write", "balance-read"):
        assert f'name="{box}"' not in guest.page
        assert f'name="{box}"' in boss.page
    assert "Your role does not allow you to create keys with: Refund payments, View the balance." in guest.text
    assert f"{path}/{strong}/rotate" not in guest.page
    assert f"{path}/{weak}/rotate" in guest.page
    # Typed past the form.
    assert guest.post(path, name="More", **SCOPES, **{"balance-read": "yes"}).status_code == 403
    assert "See balances, reports and payouts" in guest.text
    guest.open(path)
    assert KEY.search(guest.seen(still.send(guest.posting(path, name="Website", **SCOPES))).text)


def test_a_developer_does_not_get_the_secret_of_a_key_that_may_do_more(still: InProcess) -> None:
    boss, merchant, path = pages_of(still)
    strong = f"{path}/{id_of(still, new_key(boss, path, **{'refunds-write': 'yes'}))}/rotate"
    weak = f"{path}/{id_of(still, new_key(boss, path))}/rotate"
    guest = join(still, merchant, "developer", boss)
    guest.open(strong)
    assert f'action="{strong}"' not in guest.page
    assert "This key may do more than your role: Refund payments." in guest.text
    guest.open(weak)
    assert guest.post(weak, overlap="24").status_code == 200
    assert KEY.search(guest.page)


def test_a_developer_makes_every_key_of_the_test_account(still: InProcess) -> None:
    boss, merchant, _ = pages_of(still)
    guest, path = join(still, merchant, "developer", boss), f"/business/{merchant.test_account}/keys"
    guest.open(path)
    assert "Your role does not allow you to create keys" not in guest.text
    assert guest.post(path, name="All", **{"refunds-write": "yes", "balance-read": "yes"}).status_code == 200
    assert KEY.search(guest.page)
