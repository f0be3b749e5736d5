"""The pages about webhook deliveries: lists, every try of one with what to do about it, and sending again."""

import html
import re

import pytest

from qirsh.domain.commands.webhook import TurnReplayPage
from qirsh.domain.tables import Tables
from tests.guest import Guest
from tests.live import PASSWORD, Call, InProcess, refund
from tests.web.business.webhook_pages import (
    HOUR_MS,
    add,
    delivery,
    give_up,
    last_sequence_after,
    owner,
    record,
    typed,
)
from tests.web.webhooks import NOBODY, new_endpoint, queue_of


def test_a_new_endpoint_has_no_deliveries_and_says_what_to_do(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    assert "No deliveries yet" in guest.read(f"/business/{merchant.account}/webhooks/{endpoint}/deliveries")
    assert "No deliveries match" in guest.read(
        f"/business/{merchant.account}/webhooks/{endpoint}/deliveries", state="failed"
    )


@pytest.mark.both_engines
def test_deliveries_are_found_by_state_type_and_payment(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 1)
    payment_id = still.paid(merchant, still.customers[0])
    still.data(refund(merchant.key, payment_id, amount=1))
    record(still, endpoint, first)
    give_up(still, endpoint, first + 1)
    record(still, endpoint, first + 2, status=302, reason="redirect")
    listed = f"/business/{merchant.account}/webhooks/{endpoint}/deliveries"

    def found(**query: str) -> list[int]:
        guest.read(listed, **query)
        return [int(number) for number in re.findall(r'href="/business/\d+/deliveries/dlv_\w+?_(\d+)"', guest.page)]

    assert found() == [first + 2, first + 1, first]
    assert found(state="failed") == [first + 1]
    assert found(state="waiting") == [first + 2]
    assert "a redirect, which we do not follow" in guest.text
    assert found(type="refund.created") == [first + 2]
    spaced = " ".join(payment_id[start : start + 4] for start in range(0, 16, 4))
    assert found(payment=spaced) == [first + 2, first + 1]
    assert found(payment=payment_id, state="delivered") == []
    assert guest.ask(listed, payment="12").status_code == 422
    assert "not a complete payment number" in guest.text
    for query in ({"state": "lost"}, {"type": "cake.baked"}, {"after": "x"}):
        assert guest.ask(listed, **query).status_code == 422


def test_a_list_of_deliveries_goes_on_where_its_page_ended(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 21)
    for number in range(21):
        record(still, endpoint, first + number)
    guest.read(f"/business/{merchant.account}/webhooks/{endpoint}/deliveries")
    assert delivery(merchant.account, endpoint, first + 20) in guest.page
    assert f'"{delivery(merchant.account, endpoint, first)}"' not in guest.page
    older = re.search(r'href="([^"]+)" rel="next"', guest.page)
    assert older
    guest.open(html.unescape(older[1]))
    assert re.findall(r'href="(/business/\d+/deliveries/\w+)"', guest.page) == [
        delivery(merchant.account, endpoint, first)
    ]


def test_one_delivery_shows_every_try_with_what_to_do_and_the_very_bytes(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 1)
    still.clock.advance(5000)
    record(still, endpoint, first, status=None, reason="bad_certificate", took_ms=31)
    still.clock.advance(HOUR_MS)
    record(still, endpoint, first, status=500, reason="status", excerpt="<script>alert(1)</script>")
    text = guest.read(delivery(merchant.account, endpoint, first))
    assert "Attempt 2" in text
    assert "Attempt 1" in text
    assert "The certificate of the receiver is not valid. Renew the certificate" in text
    assert "status 500" in text
    assert "Next attempt" in text
    assert "31 ms" in text
    assert "<script>alert" not in guest.page
    [event] = set(re.findall(r"evt_\d+_\d+_\d+", text))
    body = still.send(Call("GET", f"/api/v1/events/{event}", merchant.key)).text
    assert body in html.unescape(guest.page)
    assert f"webhook-id: {event}" in text
    assert f"webhook-timestamp: {still.now_ms() // 1000}" in text
    still.clock.advance(HOUR_MS)
    record(still, endpoint, first)
    text = guest.read(delivery(merchant.account, endpoint, first))
    assert "Delivered" in text
    assert "2 hours later" in text
    assert "Next attempt" not in text


def test_a_delivery_is_sent_again_on_its_page(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 1)
    give_up(still, endpoint, first)
    page = delivery(merchant.account, endpoint, first)
    guest.open(page)
    guest.follow(guest.post(f"{page}/resend"))
    assert "It will be sent again now" in guest.text
    row = still.run(still.context.store.find(Tables.webhook_deliveries, (endpoint, first)))
    assert row is not None
    assert (row.state, row.step, row.attempts) == ("waiting", 0, 10)


def test_what_an_endpoint_no_longer_wants_is_not_sent_again(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 1)
    give_up(still, endpoint, first)
    guest.open(delivery(merchant.account, endpoint, first))
    call = guest.posting(f"{delivery(merchant.account, endpoint, first)}/resend")
    guest.open(f"/business/{merchant.account}/webhooks/{endpoint}/edit")
    guest.post(
        f"/business/{merchant.account}/webhooks/{endpoint}/edit",
        url=NOBODY,
        password=PASSWORD,
        **{"refund-created": "yes"},
    )
    assert "no longer receives events of this type" in guest.read(delivery(merchant.account, endpoint, first))
    assert still.send(call).status_code == 303
    guest.open(f"/business/{merchant.account}/webhooks/{endpoint}/again")
    guest.follow(
        guest.post(f"/business/{merchant.account}/webhooks/{endpoint}/again", what="failed", since="2026-01-01T00:00")
    )
    assert "nothing to send again" in guest.text
    row = still.run(still.context.store.find(Tables.webhook_deliveries, (endpoint, first)))
    assert row is not None
    assert row.state == "failed"


@pytest.mark.both_engines
def test_all_that_failed_since_a_time_is_sent_again(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    first = last_sequence_after(still, merchant, 3)
    give_up(still, endpoint, first)
    record(still, endpoint, first + 1)
    still.clock.advance(2 * HOUR_MS)
    since = typed(still.now_ms() - HOUR_MS)
    give_up(still, endpoint, first + 2)
    path = f"/business/{merchant.account}/webhooks/{endpoint}/again"
    guest.open(path)
    guest.follow(guest.post(path, what="failed", since=since))
    assert "What failed will be sent again now" in guest.text
    with still.books() as books:
        rows = books.select(
            "SELECT sequence, state FROM webhook_delivery WHERE endpoint = ? ORDER BY sequence", endpoint
        )
    assert [tuple(row) for row in rows] == [(first, "failed"), (first + 1, "delivered"), (first + 2, "waiting")]


def test_everything_since_a_time_is_sent_again_one_replay_at_a_time(still: InProcess) -> None:
    guest, merchant = owner(still)
    endpoint = add(guest, merchant.account)
    last_sequence_after(still, merchant, 1)
    still.clock.advance(2 * HOUR_MS)
    first = last_sequence_after(still, merchant, 2)
    record(still, endpoint, first + 1)
    path = f"/business/{merchant.account}/webhooks/{endpoint}/again"
    guest.open(path)
    since = typed(still.now_ms() - HOUR_MS)
    guest.follow(guest.post(path, what="all", since=since))
    assert "oldest first" in guest.text
    assert "Being sent again: events left 2" in guest.text
    queue = queue_of(still, endpoint)
    assert (queue.replay_next, queue.replay_until) == (first, first + 1)
    guest.open(path)
    assert guest.post(path, what="all", since=since).status_code == 422
    assert "being sent again already" in guest.text
    still.run(still.context.engine.submit(TurnReplayPage(endpoint, (first, first + 1), first + 2)))
    assert guest.post(path, what="all", since=since).status_code == 303


@pytest.mark.parametrize(
    ("what", "since", "says"),
    [
        ("all", "", "Enter a valid date and time"),
        ("all", "yesterday", "Enter a valid date and time"),
        ("failed", "2026-02-30T00:00", "Enter a valid date and time"),
        ("failed", "2999-01-01T00:00", "in the future"),
        ("all", "2020-01-01T00:00", "for 90 days"),
        ("some", "2026-01-01T00:00", "Choose one of these"),
    ],
)
def test_a_time_that_makes_no_sense_is_told_beside_its_field(
    still: InProcess, what: str, since: str, says: str
) -> None:
    merchant = still.merchants[2]
    endpoint = new_endpoint(still, merchant.key)
    guest = Guest(still).signed_in(merchant.email)
    path = f"/business/{merchant.account}/webhooks/{endpoint}/again"
    guest.open(path)
    assert guest.post(path, what=what, since=since).status_code == 422
    assert says in guest.text
