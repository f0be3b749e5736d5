"""What keys were used for: what is noted, what is kept when there are too many, and who sees it."""

import re
from typing import Final

import pytest

from qirsh.domain.limits import REQUESTS_AT_ONCE, REQUESTS_KEPT_OF_KEY
from qirsh.web.http import authentication
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import Call, InProcess, Live, Merchant, cancel, create, refund, retrieve
from tests.waiting import NEVER_S, wait_until
from tests.web.business.request_log import record, rows, write_down

CREATE: Final = "/api/v1/remote-payments"


@pytest.fixture
def shop(still: InProcess) -> Merchant:
    """Of whose calls nothing is noted yet."""
    made = still.merchant()
    write_down(still)
    return made


def visitor(still: InProcess, shop: Merchant) -> Guest:
    return Guest(still).signed_in(shop.email)


def listed(guest: Guest) -> list[str]:
    return re.findall(r'/requests/(req_\w+)"', guest.page)


def test_calls_are_noted_with_what_they_came_to(still: InProcess, shop: Merchant) -> None:
    payment = still.data(create(shop.key))["id"]
    answers = [
        still.send(call)
        for call in (
            retrieve(shop.key, payment),
            cancel(shop.key, payment),
            refund(shop.key, payment),
            create(shop.key, amount=-1),
            Call("GET", f"{CREATE}?metadata%5Bname%5D=Sara", shop.key),
            Call("GET", f"{CREATE}/a%00b", shop.key),
            Call("GET", "/api/v1/me", shop.test_key),
        )
    ]
    write_down(still)
    assert sorted(rows(still, shop)) == sorted(
        [
            ("POST", CREATE, 201, "", 0),
            ("GET", f"{CREATE}/{payment}", 200, "", 0),
            ("POST", f"{CREATE}/{payment}/cancel", 200, "", 0),
            ("POST", f"{CREATE}/{payment}/refunds", 409, "cancelled", 0),
            ("POST", CREATE, 422, "validation_failed", 0),
            ("GET", CREATE, 200, "", 0),  # Without the query.
            ("GET", f"{CREATE}/a?b", 404, "not_found", 0),
            ("GET", "/api/v1/me", 200, "", 0),
        ]
    )
    guest = visitor(still, shop)
    guest.open(f"/business/{shop.account}/requests?payment={payment}")
    shown = listed(guest)
    assert len(shown) == 4
    assert answers[1].headers["x-request-id"] in shown
    guest.open(f"/business/{shop.account}/payments/{payment}")
    assert set(listed(guest)) == set(shown)
    assert f"/requests?payment={payment}" in guest.page
    guest.open(f"/business/{shop.account}/requests/{answers[2].headers['x-request-id']}")
    for told in ("409", "cancelled", f"{CREATE}/{payment}/refunds", "127.0.0.1", answers[2].headers["x-request-id"]):
        assert told in guest.text
    assert f"/payments/{payment}" in guest.page
    guest.open(f"/business/{shop.test_account}/requests")
    assert listed(guest) == [answers[-1].headers["x-request-id"]]


def test_a_refund_that_is_looked_at_names_its_payment(still: InProcess, shop: Merchant) -> None:
    payment = still.paid(shop, still.customers[0])
    made = still.data(refund(shop.key, payment, amount=1))["id"]
    seen = still.send(Call("GET", f"/api/v1/refunds/{made}", shop.key))
    write_down(still)
    guest = visitor(still, shop)
    guest.open(f"/business/{shop.account}/requests?payment={payment}")
    assert seen.headers["x-request-id"] in listed(guest)


def test_another_shops_payment_is_not_named_by_who_only_asks_for_it(still: InProcess, shop: Merchant) -> None:
    other = still.merchants[0]
    payment = still.payment(other)
    assert still.send(retrieve(shop.key, payment)).status_code == 404
    write_down(still)
    with still.books() as books:
        number = books.payment_number(payment)
        found = books.select("SELECT account FROM request_log WHERE payment = ?", number)
    assert found == [(int(other.account),)]


def test_of_a_busy_key_errors_are_kept_first_and_the_rest_is_counted(still: InProcess, shop: Merchant) -> None:
    for _ in range(REQUESTS_KEPT_OF_KEY + 7):
        still.send(Call("GET", "/api/v1/me", shop.key))
    for _ in range(3):
        still.send(retrieve(shop.key, "none"))
    write_down(still)
    found = rows(still, shop)
    assert [row[2] for row in found].count(200) == REQUESTS_KEPT_OF_KEY
    assert [row[2] for row in found].count(404) == 3
    assert sum(row[4] for row in found) == 7
    guest = visitor(still, shop)
    guest.open(f"/business/{shop.account}/requests?status=2")
    assert "7 of this time are not in the list" in guest.text.replace("\u2068", "").replace("\u2069", "")
    still.send(Call("GET", "/api/v1/me", shop.key))  # There is room again.
    write_down(still)
    assert len(rows(still, shop)) == len(found) + 1


def test_one_look_takes_no_more_than_one_command_may_carry(still: InProcess) -> None:
    merchants = [still.merchant() for _ in range(6)]
    write_down(still)
    for merchant in merchants:
        for _ in range(REQUESTS_KEPT_OF_KEY):
            still.send(Call("GET", "/api/v1/me", merchant.key))
    [context] = still.services
    assert len(context.requests.take()) == REQUESTS_AT_ONCE // 2
    still.send(Call("GET", "/api/v1/me", merchants[-1].key))
    [told] = context.requests.take()
    assert told.skipped == REQUESTS_KEPT_OF_KEY  # With the first that there was room for.


def test_calls_that_were_too_many_are_noted_as_the_keys_own(
    still: InProcess, shop: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = still.context.limits
    still.change(limits=RateLimits(workers=6000))  # One call a minute for each key.
    with monkeypatch.context() as patient:  # The second call must find the key still cached.
        patient.setattr(authentication, "REVOCATION_TRUST_MS", NEVER_S * 1000)
        still.poll()
        answers = [still.send(Call("GET", "/api/v1/me", shop.key)).status_code for _ in range(2)]
    still.poll()
    still.change(limits=before)
    write_down(still)
    assert answers == [200, 429]
    assert [(row[2], row[3]) for row in rows(still, shop)] == [(200, ""), (429, "rate_limited")]


def test_what_is_not_of_a_key_is_not_noted(still: InProcess) -> None:
    write_down(still)
    still.send(Call("GET", "/api/v1/wallet/balances", still.customers[0].token))
    still.send(Call("GET", "/api/v1/me"))
    visitor(still, still.merchants[0]).open("/business")
    assert still.context.requests.take() == ()


@pytest.mark.both_engines
def test_the_list_goes_on_without_gaps_and_by_key_and_status(still: InProcess, shop: Merchant) -> None:
    good = record(still, shop, count=30)
    bad = record(still, shop, count=25, status=404, code="not_found")
    broken = record(still, shop, status=503, code="unavailable", key="key_of_before")
    guest, address = visitor(still, shop), f"/business/{shop.account}/requests"
    expected = {
        "": {*good, *bad, *broken},
        "?status=2": {*good},
        "?status=4": {*bad},
        "?status=5": {*broken},
        f"?key={shop.key_id}": {*good, *bad},
        f"?key={shop.key_id}&status=4": {*bad},
        f"?key={shop.key_id}&status=5": set(),
    }
    for query, ids in expected.items():
        seen: list[str] = []
        page = f"{address}{query}"
        while page:
            guest.open(page)
            seen += listed(guest)
            older = re.search(r'href="([^"]+)" rel="next"', guest.page)
            page = older[1].replace("&amp;", "&") if older else ""
        assert len(seen) == len(set(seen))
        assert set(seen) == ids, query


def test_what_is_anothers_or_makes_no_sense_is_not_there(still: InProcess, shop: Merchant) -> None:
    other = still.merchants[0]
    [theirs] = record(still, other)
    [own] = record(still, shop)
    guest, address = visitor(still, shop), f"/business/{shop.account}/requests"

    def status(path: str) -> int:
        return still.send(guest.call("GET", path)).status_code

    assert status(f"{address}/{own}") == 200
    assert status(f"/business/{shop.test_account}/requests/{own}") == 404
    for path in (f"/{theirs}", "/req_", "/req_a%00", f"/{'x' * 900}", f"?key={other.key_id}", "?key=x"):
        assert status(address + path) == 404, path
    for query in ("status=3", "status=x", "after=x", "after=1.x", f"after={'9' * 30}.req_1", "payment=123"):
        assert status(f"{address}?{query}") == 422, query
    guest.open(address)
    assert theirs not in guest.page


@pytest.mark.both_engines
def test_the_keys_page_says_about_when_and_from_where_a_key_was_used(still: InProcess, shop: Merchant) -> None:
    guest, address = visitor(still, shop), f"/business/{shop.account}/keys"
    guest.open(address)
    assert "Not used yet" in guest.text
    still.send(Call("GET", "/api/v1/me", shop.key))
    write_down(still)
    guest.open(address)
    assert "Not used yet" not in guest.text
    assert "About" in guest.text
    assert "127.0.0.1" in guest.text
    assert f"/requests?key={shop.key_id}" in guest.page


def test_a_served_process_writes_down_what_its_keys_did(world: Live) -> None:
    merchant = world.merchant()
    request_id = world.send(retrieve(merchant.key, "none")).headers["x-request-id"]

    def written() -> list[tuple[object, ...]]:
        with world.books() as books:
            return books.select(
                "SELECT r.status, r.code, u.key FROM request_log r JOIN api_key_use u ON u.key = r.key WHERE r.id = ?",
                request_id,
            )

    wait_until(lambda: bool(written()))
    assert [*map(tuple, written())] == [(404, "not_found", merchant.key_id)]
