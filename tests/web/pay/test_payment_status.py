"""The page that goes on by itself: what anybody may ask of a payment's state, and who is sent to the shop."""

import html
import re
from urllib.parse import quote

import pytest

from qirsh.web.http.rate_limit import RateLimits
from qirsh.web.pay import payment_status
from tests.live import ORIGIN, Call, InProcess, Live, World, cancel, in_process, pay, refund, refused, retrieve
from tests.visitor import Visitor
from tests.waiting import NEVER_S
from tests.web.long_polls import wait_for_news_alone, woken


def state(payment_id: str, query: str = "") -> Call:
    return Call("GET", f"/pay/{payment_id}/state{query}")


def test_the_state_is_what_the_page_shows_and_nothing_more(world: Live) -> None:
    customer = world.customer()
    payment_id = world.payment(world.merchants[0], amount=4321, note="a private thing", reference="ref-1")
    answer = world.send(state(payment_id))
    assert (answer.status_code, answer.json()) == (200, {"status": "pending", "version": 1})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    world.data(pay(customer, payment_id))
    paid = world.send(state(payment_id)).json()
    assert paid == {"status": "paid", "version": 2}
    # What went back is between the shop and its customer.
    world.data(refund(world.merchants[0].key, payment_id, amount=1))
    assert world.send(state(payment_id)).json() == paid


def test_it_is_over_when_its_time_is_over_whatever_is_stored(still: InProcess) -> None:
    payment_id = still.payment(still.merchants[0], expiresIn=300)
    still.clock.now += 300_000
    assert still.send(state(payment_id, "?version=1&wait=25")).json() == {"status": "expired", "version": 2}
    still.expire_due()
    assert still.send(state(payment_id)).json() == {"status": "expired", "version": 2}


def test_who_waits_is_woken_by_the_payment(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    customer, payment_id = still.customer(), still.payment(still.merchants[0])
    waiting = state(payment_id, f"?version=1&wait={NEVER_S}")
    assert woken(still, waiting, pay(customer, payment_id)) == {"status": "paid", "version": 2}


def test_nobody_waits_for_what_has_happened(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    payment_id = still.payment(still.merchants[0])
    still.data(cancel(still.merchants[0].key, payment_id))
    monkeypatch.delattr(payment_status, "final_or_late")
    for query in ("?version=1&wait=25", "?version=2&wait=25", "?wait=25", "?version=9&wait=25", "?version=x&wait=²"):
        assert still.send(state(payment_id, quote(query, "?=&"))).json() == {"status": "cancelled", "version": 2}


def test_what_is_not_there_has_no_state_and_no_code(world: Live, subtests: pytest.Subtests) -> None:
    for name in ("1", "x", "1234567890123456", "٣" * 16):
        with subtests.test(name):
            for step in ("state", "qr"):
                refused(world.send(Call("GET", f"/pay/{name}/{step}")), 404, "not_found")


def test_asking_is_counted() -> None:
    with in_process(shops=1, people=0) as world:
        payment_id = world.payment(world.merchants[0])
        world.limit(RateLimits(clock=lambda: 0))
        answers = [world.send(state(payment_id)).status_code for _ in range(310)]
        assert answers[0] == 200
        assert answers[-1] == 429


# The way to the shop.


def back_of(visitor: Visitor) -> str:
    [address] = re.findall(r'data-back="([^"]*)"', visitor.page)
    assert address.startswith(f"/pay/{visitor.payment_id}/back?token=")
    return str(address).rpartition("/")[2]


def test_a_page_that_was_open_meanwhile_says_paid_and_leads_to_the_shop(world: Live) -> None:
    visitor = Visitor(world, world.payment(world.merchants[0], returnUrl=f"{ORIGIN}/thanks"))
    visitor.open()
    step = back_of(visitor)
    page = f"/pay/{visitor.payment_id}"
    assert visitor.open(step).headers["location"] == page
    world.data(pay(world.customer(), visitor.payment_id))
    location = f"{ORIGIN}/thanks?paymentId={visitor.payment_id}&status=paid"
    assert visitor.open(step).status_code == 200
    assert f'href="{html.escape(location)}"' in visitor.page
    for words in ("Paid", "It was paid on another device.", "Continue to the shop"):
        assert words in visitor.text
    assert "Already paid" not in visitor.text
    assert "Did you pay it?" not in visitor.text
    # Who did not have the page open, or has it from somebody else, is told no more than before.
    for cookies in ({}, {"qirsh-visit": "0" * 32}):
        other = Visitor(world, visitor.payment_id)
        other.cookies = cookies
        assert other.open(step).headers["location"] == page
    for token in ("", "0" * 64, "é"):
        assert visitor.open(f"back?token={quote(token)}").headers["location"] == page
    assert visitor.open("back").headers["location"] == page


def test_the_token_of_one_page_is_none_for_another_payment(world: Live) -> None:
    first = Visitor(world, world.payment(world.merchants[0], returnUrl=ORIGIN))
    first.open()
    second = first.elsewhere(world.payment(world.merchants[0], returnUrl=ORIGIN))
    world.data(pay(world.customer(), second.payment_id))
    assert second.open(back_of(first)).headers["location"] == f"/pay/{second.payment_id}"


def test_who_is_signed_in_as_somebody_else_stays_here(world: Live) -> None:
    payer = world.customer()
    mine, theirs = (
        Visitor(world, world.payment(world.merchants[0], returnUrl=ORIGIN)).signed_in(payer),
        Visitor(world, world.payment(world.merchants[0], returnUrl=ORIGIN)).signed_in(world.customer()),
    )
    steps = [back_of(mine), back_of(theirs)]
    for visitor in (mine, theirs):
        world.data(pay(payer, visitor.payment_id))
    assert mine.open(steps[0]).headers["location"].startswith(ORIGIN)
    assert theirs.open(steps[1]).headers["location"] == f"/pay/{theirs.payment_id}"


def test_following_changes_nothing(world: Live) -> None:
    visitor = Visitor(world, world.payment(world.merchants[0], returnUrl=ORIGIN))
    visitor.open()
    before = world.counts()
    for step in (back_of(visitor), "state", "state?version=1&wait=1", "qr"):
        for method in ("GET", "HEAD"):
            world.send(visitor.call(method, step))
    assert world.counts() == before
    assert world.data(retrieve(world.merchants[0].key, visitor.payment_id))["status"] == "pending"


def test_without_a_shop_to_go_to_the_page_says_that_it_was_paid(world: Live) -> None:
    visitor = Visitor(world, world.payment(world.merchants[0]))
    visitor.open()
    step = back_of(visitor)
    customer = world.customer()
    world.data(pay(customer, visitor.payment_id))
    assert visitor.open(step).status_code == 200
    assert "It was paid on another device" in visitor.text
    assert "You can close this page." in visitor.text
    assert "Continue to the shop" not in visitor.text
    assert customer.account[-4:] not in visitor.text.replace(" ", "").replace(visitor.payment_id, "")


# The code for the phone.


def read_code(world: World, payment_id: str) -> bytes:
    answer = world.send(Call("GET", f"/pay/{payment_id}/qr"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml; charset=utf-8"
    return answer.content


def test_the_code_for_the_phone_is_a_picture_that_is_loaded_by_who_looks_at_it(world: Live) -> None:
    visitor = Visitor(world, world.payment(world.merchants[0]))
    visitor.open()
    assert f'<img src="/pay/{visitor.payment_id}/qr"' in visitor.page
    assert 'loading="lazy"' in visitor.page
    drawn = read_code(world, visitor.payment_id)
    assert drawn.startswith(b"<svg ")
    assert f"{world.settings.base_url}/pay/{visitor.payment_id}".encode() in drawn
    assert b"script" not in drawn
