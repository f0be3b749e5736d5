"""Events to pull: every change once, in order, as GET showed it then; and waiting for the next one."""

import asyncio
import re
import signal
from typing import Any, Final

import pytest

from qirsh.domain.limits import WAITS_OF_KEY_MAX
from qirsh.store.interface import Store
from qirsh.store.reads import events
from qirsh.web.http.waiters import LOOK_AGAIN_S
from tests.live import (
    PAYMENTS,
    START,
    Call,
    InProcess,
    Live,
    Merchant,
    create,
    field_errors,
    in_process,
    live,
    outcome,
    pay,
    refused,
    retrieve,
)
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.web.lists import EVENTS, asking, cancel, refund, try_out
from tests.web.long_polls import begun, skip, skipping, wait_for_news_alone, wait_without_end, woken

DAY_MS: Final = 24 * 3600 * 1000
ODD: Final = b'{"z":1.0,"a":[1,{"b":null}],"n":1152921504606846976,"":"\xf0\x9f\xa7\xbf","e":1E2 , "s":"\\u0041\\/"}'
BODY: Final = b'{"amount":100,"currency":"USD","note":"n","reference":"r","metadata":' + ODD + b"}"


def data_of(answer_content: bytes) -> bytes:
    """The very bytes of `data`."""
    assert answer_content.startswith(b'{"data":')
    return answer_content.removeprefix(b'{"data":').removesuffix(b"}")


def pull(world: InProcess | Live, key: str, limit: int = 100, **query: object) -> list[dict[str, Any]]:
    """All that there is now: each page goes on after the last one, until one is empty."""
    found: list[dict[str, Any]] = []
    while True:
        told = world.data(asking(key, EVENTS, {"limit": limit, **query}))
        assert list(told) == ["items", "nextCursor", "hasMore"]
        assert len(told["items"]) <= limit
        if not told["items"]:
            assert not told["hasMore"]
            assert told["nextCursor"] == query.get("cursor")
            return found
        assert told["nextCursor"] == told["items"][-1]["id"]
        found += told["items"]
        query["cursor"] = told["nextCursor"]


def sequences(events: list[dict[str, Any]]) -> list[int]:
    return [int(event["id"].rpartition("_")[2]) for event in events]


@pytest.mark.both_engines
def test_every_change_has_its_event_in_order_and_its_data_is_what_get_showed_byte_for_byte(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    key = merchant.key
    made = [still.payment(merchant, BODY) for _ in range(3)]
    told: list[tuple[str, bytes]] = []

    def saw(kind: str, payment_id: str, refund_id: str = "") -> None:
        shown = data_of(still.send(retrieve(key, payment_id)).content)
        if refund_id:
            given = data_of(still.send(Call("GET", f"/api/v1/refunds/{refund_id}", key)).content)
            shown = b'{"refund":' + given + b',"payment":' + shown + b"}"
        told.append((kind, shown))
        still.clock.advance(7)

    still.data(pay(customer, made[0]))
    saw("remote_payment.paid", made[0])
    still.data(cancel(key, made[1]))
    saw("remote_payment.cancelled", made[1])
    for amount, metadata in ((30, '{"r":1.0}'), (20, "{}"), (50, '{ "b": 1,"a":2}')):
        body = f'{{"amount":{amount},"note":"back {amount}","metadata":{metadata}}}'.encode()
        call = refund(key, made[0])._replace(content=body)
        saw("refund.created", made[0], still.data(call)["id"])
    still.clock.advance(3_600_000)
    still.expire_due()
    saw("remote_payment.expired", made[2])

    events = pull(still, key)
    assert [event["type"] for event in events] == [kind for kind, _ in told]
    assert sequences(events) == list(range(1, 7))
    for event, (_, shown) in zip(events, told, strict=True):
        assert re.fullmatch(rf"evt_0_{merchant.account}_[1-9][0-9]*", event["id"])
        one = data_of(still.send(asking(key, f"{EVENTS}/{event['id']}")).content)
        head = b'{"id":"%b","type":"%b","createdAt":"%b","data":' % tuple(
            event[name].encode() for name in ("id", "type", "createdAt")
        )
        assert one == head + shown + b',"livemode":true}'
        changed = event["data"].get("payment", event["data"])
        assert event["createdAt"] == changed["updatedAt"]
    page = data_of(still.send(asking(key, EVENTS, {"limit": "100"})).content)
    assert all(shown in page for _, shown in told)
    assert ODD in page


def test_pages_of_any_size_show_each_event_once(still: InProcess) -> None:
    merchant = still.merchant()
    made = [still.payment(merchant) for _ in range(23)]
    still.together(cancel(merchant.key, payment_id) for payment_id in made)
    everything = pull(still, merchant.key)
    assert sequences(everything) == list(range(1, 24))
    assert sorted(event["data"]["_id"] for event in everything) == sorted(made)
    for limit in (1, 2, 7, 22, 23, 24):
        assert pull(still, merchant.key, limit) == everything
    told = still.data(asking(merchant.key, EVENTS, {"limit": "22"}))
    assert told["hasMore"]
    told = still.data(asking(merchant.key, EVENTS, {"limit": "23"}))
    assert not told["hasMore"]
    assert told["nextCursor"] == everything[-1]["id"], "a puller always has something to go on from"


def test_after_the_latest_only_what_is_new_is_told(still: InProcess) -> None:
    merchant = still.merchant()
    told = still.data(asking(merchant.key, EVENTS, {"cursor": "latest"}))
    assert told == {"items": [], "nextCursor": None, "hasMore": False}, "the first event is still to come"
    made = [still.payment(merchant) for _ in range(3)]
    for payment_id in made[:2]:
        still.data(cancel(merchant.key, payment_id))
    told = still.data(asking(merchant.key, EVENTS, {"cursor": "latest"}))
    assert (told["items"], told["hasMore"]) == ([], False)
    assert told["nextCursor"] == pull(still, merchant.key)[-1]["id"]
    still.data(cancel(merchant.key, made[2]))
    news = pull(still, merchant.key, cursor=told["nextCursor"])
    assert [event["data"]["_id"] for event in news] == [made[2]]


def of_type(world: InProcess, key: str, kind: str, limit: int) -> list[dict[str, Any]]:
    """All of one type. A page may be short, or empty, and not the last."""
    found: list[dict[str, Any]] = []
    query: dict[str, object] = {"type": kind, "limit": limit}
    while True:
        told = world.data(asking(key, EVENTS, query))
        assert len(told["items"]) <= limit
        found += told["items"]
        if told["nextCursor"] is not None:
            query["cursor"] = told["nextCursor"]
        if not told["hasMore"]:
            assert not world.data(asking(key, EVENTS, query))["items"]
            return found


@pytest.mark.both_engines
def test_events_of_one_type_are_found_among_all(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant, customer = still.merchant(), still.customer()
    for number in range(12):
        payment_id = still.payment(merchant)
        if number % 3:
            still.data(cancel(merchant.key, payment_id))
        else:
            still.data(pay(customer, payment_id))
            still.data(refund(merchant.key, payment_id, amount=1))
    everything = pull(still, merchant.key)
    for looked_at in (1, 4, 1000):
        monkeypatch.setattr("qirsh.web.api.events.EVENTS_LOOKED_AT_MAX", looked_at)
        for kind in ("remote_payment.paid", "remote_payment.cancelled", "refund.created", "remote_payment.expired"):
            expected = [event for event in everything if event["type"] == kind]
            for limit in (1, 3, 100):
                assert of_type(still, merchant.key, kind, limit) == expected


def test_a_refused_change_has_no_event(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    payment_id = still.payment(merchant)
    still.data(pay(customer, payment_id))
    before = pull(still, merchant.key)
    assert outcome(still.send(cancel(merchant.key, payment_id))) == "already_paid"
    assert outcome(still.send(pay(customer, payment_id))) == "already_paid"
    assert outcome(still.send(refund(merchant.key, payment_id, amount=101))) == "refund_exceeds"
    assert pull(still, merchant.key) == before


def test_live_and_test_events_are_counted_apart(still: InProcess) -> None:
    merchant = still.merchant()
    tried = [still.data(create(merchant.test_key))["id"] for _ in range(3)]
    for payment_id, what in zip(tried, ("pay", "cancel", "expire"), strict=True):
        still.data(try_out(merchant.test_key, payment_id, what))
    still.data(cancel(merchant.key, still.payment(merchant)))
    assert [event["type"] for event in pull(still, merchant.key)] == ["remote_payment.cancelled"]
    events = pull(still, merchant.test_key)
    assert sequences(events) == [1, 2, 3]
    assert [event["data"]["status"] for event in events] == ["paid", "cancelled", "expired"]
    assert {event["data"]["livemode"] for event in events} == {False}


# Whose events, and what is an id.


def test_only_an_own_event_is_found_and_only_by_its_exact_id(still: InProcess) -> None:
    merchant, other = still.merchant(), still.merchant()
    for shop in (merchant, other):
        still.data(cancel(shop.key, still.payment(shop)))
    [event] = pull(still, merchant.key)
    name = event["id"]
    assert still.data(asking(merchant.key, f"{EVENTS}/{name}")) == event
    wrong = [
        *(pull(still, other.key)[0]["id"], name + "0", name[:-1] + "2", name.replace("evt_0", "evt_1")),
        *(name.replace("evt_0", "evt_00"), name.replace("_1", "_01"), name.upper(), f"{name}%20", f"%20{name}"),
        *(f"evt_{merchant.account}_1", "1", "evt_", "evt_0_0_0", f"evt_0_{merchant.account}_0", "evt_-1_1_1"),
        *(f"evt_0_{merchant.account}_-1", f"evt_0_{merchant.account}_{'9' * 18}", "9" * 3000),
        *(f"evt_999999_{merchant.account}_1", f"evt_0_{merchant.account}_%D9%A1", f"evt_0_{merchant.test_account}_1"),
    ]
    for text in wrong:
        refused(still.send(asking(merchant.key, f"{EVENTS}/{text}")), 404, "not_found")
    # Someone else's is no cursor; a lost one of our own is, because a restored backup may have lost it.
    bad = [pull(still, other.key)[0]["id"], "x", "null", "evt_", name.upper(), f"evt_0_{merchant.account}_0", "Yy4xLjE"]
    for text in bad:
        answer = still.send(asking(merchant.key, EVENTS, {"cursor": text}))
        assert field_errors(answer) == {"cursor": "invalid"}, text


WRONG_QUERIES: Final = [
    ("limit=0", {"limit": "out_of_range"}),
    ("limit=101", {"limit": "out_of_range"}),
    ("wait=31", {"wait": "out_of_range"}),
    ("wait=-1", {"wait": "out_of_range"}),
    ("wait=1.5", {"wait": "wrong_type"}),
    ("wait=", {"wait": "wrong_type"}),
    ("wait=1&wait=1", {"wait": "repeated"}),
    ("cursor=", {"cursor": "too_short"}),
    ("cursor=now", {"cursor": "invalid"}),
    ("status=paid", {"status": "unknown_parameter"}),
    ("type=ping&after=1", {"type": "unknown_value", "after": "unknown_parameter"}),
]


def test_a_wrong_parameter_is_named(still: InProcess, subtests: pytest.Subtests) -> None:
    for query, errors in WRONG_QUERIES:
        with subtests.test(query):
            assert field_errors(still.send(asking(still.merchants[0].key, EVENTS, query))) == errors


# Long ago.


@pytest.mark.both_engines
def test_events_are_listed_for_90_days_and_can_be_seen_for_ever(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        merchant = world.merchants[0]
        key = merchant.test_key

        def happen(count: int) -> None:
            for _ in range(count):
                world.data(try_out(key, world.data(create(key))["id"], "cancel"))

        for count in (3, 1, 4):
            happen(count)
            world.clock.advance(DAY_MS)
        everything = pull(world, key)
        assert len(everything) == 8

        def listed_at(now: int) -> int:
            world.clock.now = now
            found = pull(world, key)
            assert found == everything[len(everything) - len(found) :]
            # A cursor from before goes on with the first that is still listed.
            after = world.data(asking(key, EVENTS, {"cursor": everything[0]["id"], "limit": "100"}))["items"]
            assert after == (found[1:] if len(found) == 8 else found)
            return len(found)

        ends = START + 90 * DAY_MS
        assert listed_at(ends) == 8
        assert listed_at(ends + 1) == 5
        assert listed_at(ends + DAY_MS) == 5
        assert listed_at(ends + DAY_MS + 1) == 4
        assert listed_at(ends + 2 * DAY_MS) == 4
        assert listed_at(ends + 2 * DAY_MS + 1) == 0
        for event in everything:
            assert world.data(asking(key, f"{EVENTS}/{event['id']}")) == event
        happen(1)
        [news] = pull(world, key, cursor=everything[3]["id"])
        assert sequences([news]) == [9]


@pytest.mark.both_engines
def test_after_a_restore_no_event_is_skipped_by_a_cursor_of_one_that_was_lost(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        merchant = world.merchants[0]

        def happen(count: int) -> None:
            for _ in range(count):
                world.data(cancel(merchant.key, world.payment(merchant)))

        happen(5)
        kept = pull(world, merchant.key)
        # What a puller had seen after the backup, up to the tenth, is gone; the next ones have a new epoch.
        lost = f"evt_0_{merchant.account}_10"
        store = world.context.store
        store.instance = type(store.instance)(store.instance.identifiers, 1)
        happen(8)
        news = pull(world, merchant.key, cursor=kept[-1]["id"])
        assert [event["id"] for event in news] == [f"evt_1_{merchant.account}_{n}" for n in range(6, 14)]
        assert pull(world, merchant.key, cursor=lost) == news
        assert pull(world, merchant.key, cursor=news[3]["id"]) == news[4:]
        # One that cannot have been lost was never given.
        for never in (f"evt_1_{merchant.account}_14", f"evt_2_{merchant.account}_1"):
            answer = world.send(asking(merchant.key, EVENTS, {"cursor": never}))
            assert field_errors(answer) == {"cursor": "invalid"}
        assert pull(world, merchant.key)[:5] == kept


# Waiting.


def test_who_waits_is_woken_by_the_event(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    merchant, customer = still.merchant(), still.customer()
    cursor: dict[str, str] = {}
    for number in range(3):
        payment_id = still.payment(merchant)
        change = pay(customer, payment_id) if number else cancel(merchant.key, payment_id)
        told = woken(still, asking(merchant.key, EVENTS, {"wait": "30", **cursor}), change)["data"]
        assert [event["data"]["_id"] for event in told["items"]] == [payment_id]
        cursor = {"cursor": told["nextCursor"]}
    refunded = woken(still, asking(merchant.key, EVENTS, {"wait": "30", **cursor}), refund(merchant.key, payment_id))
    assert [event["type"] for event in refunded["data"]["items"]] == ["refund.created"]


def test_what_happened_before_is_told_without_waiting(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    merchant = still.merchant()
    still.data(cancel(merchant.key, still.payment(merchant)))
    assert len(still.data(asking(merchant.key, EVENTS, {"wait": "30"}))["items"]) == 1


def test_events_of_others_wake_nobody(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    merchant, other = still.merchant(), still.merchant()
    foreign, own = still.payment(other), still.payment(merchant)
    looks: list[int] = []
    last_sequence = events.last_sequence

    async def counted(store: Store, account: int) -> int:
        looks.append(account)
        return await last_sequence(store, account)

    monkeypatch.setattr(events, "last_sequence", counted)

    async def scene() -> dict[str, Any]:
        [task] = await begun(still, asking(merchant.key, EVENTS, {"wait": "30"}))
        for change in (cancel(other.key, foreign), cancel(merchant.key, own)):
            assert (await still.sent(change)).status_code == 200
        told: dict[str, Any] = (await task).json()["data"]
        return told

    assert [event["data"]["_id"] for event in still.run(scene())["items"]] == [own]
    assert len(looks) == 3, "before waiting at all, when it began to wait, and when it was woken by its own"


def test_a_wait_without_news_ends_with_an_empty_page() -> None:
    with skipping() as world:
        merchant = world.merchants[0]

        async def scene() -> dict[str, Any]:
            [task] = await begun(world, asking(merchant.key, EVENTS, {"wait": "30"}))
            skip(30)
            told: dict[str, Any] = (await task).json()["data"]
            return told

        assert world.run(scene()) == {"items": [], "nextCursor": None, "hasMore": False}


def test_many_wait_for_one_event_and_all_hear_of_it(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as may of one key; one more is refused until they are over."""
    wait_for_news_alone(monkeypatch)
    merchant, other = still.merchant(), still.merchant()
    payment_id = still.payment(merchant)
    call = asking(merchant.key, EVENTS, {"wait": 1})
    one_more = Call("GET", f"{PAYMENTS}/{payment_id}?wait=1", merchant.key)

    async def scene() -> list[bytes]:
        tasks = await begun(still, *[call] * WAITS_OF_KEY_MAX)
        for late in (call, one_more):
            answer = await still.sent(late)
            refused(answer, 429, "rate_limited")
            assert answer.headers["retry-after"] == "1"
        assert (await still.sent(retrieve(merchant.key, payment_id))).status_code == 200
        [others] = await begun(still, asking(other.key, EVENTS, {"wait": 1}))
        others.cancel()
        assert (await still.sent(cancel(merchant.key, payment_id))).status_code == 200
        return [answer.content for answer in await asyncio.gather(*tasks)]

    assert len(set(still.run(scene()))) == 1
    # When they are over, others may wait.
    other_id = still.payment(merchant)
    again = Call("GET", f"{PAYMENTS}/{other_id}?wait=1", merchant.key)
    assert woken(still, again, cancel(merchant.key, other_id))["data"]["status"] == "cancelled"


def test_without_wait_nobody_waits(still: InProcess) -> None:
    merchant = still.merchant()
    for query in ("", "wait=0"):
        answer = still.send(asking(merchant.key, EVENTS, query))
        assert answer.content == b'{"data":{"items":[],"nextCursor":null,"hasMore":false}}'


# Several processes.


def flooded(two: Live, merchant: Merchant, count: int) -> list[dict[str, Any]]:
    """What a puller gets while many changes are made in both processes."""
    made = [
        answer.json()["data"]["id"]
        for answer in two.together(create(merchant.key, amount=1, currency="USD") for _ in range(count))
    ]

    async def scene() -> list[dict[str, Any]]:
        changes = asyncio.gather(
            *(
                two.sent(cancel(merchant.key, payment_id) if n % 2 else pay(two.customers[n % 4], payment_id))
                for n, payment_id in enumerate(made)
            )
        )
        seen: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while len(seen) < count:
            answer = await two.sent(asking(merchant.key, EVENTS, {"limit": "7", "wait": "20", **cursor}))
            told = answer.json()["data"]
            seen += told["items"]
            cursor = {"cursor": told["nextCursor"]} if told["nextCursor"] else {}
        for answer in await changes:
            assert answer.status_code == 200, answer.text
        return seen

    found = two.run(scene())
    assert sorted(event["data"]["_id"] for event in found) == sorted(made)
    return found


def test_across_processes_nothing_is_skipped(postgres: PostgresServer) -> None:
    with live(postgres, processes=2, people=4) as two:
        seen = flooded(two, two.merchants[0], 120)
        assert sequences(seen) == list(range(1, 121))


def test_news_of_another_process_are_found_at_the_next_look(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services take calls in turn: the first waits, and the second makes the change, of which it tells nobody."""
    wait_without_end(monkeypatch)
    with skipping(postgres, services=2) as two:
        merchant = two.merchants[0]
        event_id, status_id = two.payment(merchant), two.payment(merchant)

        async def scene(call: Call, change: Call) -> dict[str, Any]:
            [task] = await begun(two, call)
            assert (await two.sent(change)).status_code == 200
            skip(LOOK_AGAIN_S)
            told: dict[str, Any] = (await task).json()["data"]
            return told

        found = two.run(scene(asking(merchant.key, EVENTS, {"wait": "30"}), cancel(merchant.key, event_id)))
        assert [event["data"]["_id"] for event in found["items"]] == [event_id]
        found = two.run(scene(retrieve(merchant.key, status_id, "?wait=30"), cancel(merchant.key, status_id)))
        assert found["status"] == "cancelled"


def test_a_stop_ends_all_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_news_alone(monkeypatch)
    with in_process() as world:
        merchant = world.merchants[0]
        payment_id = world.payment(merchant)
        calls = [asking(merchant.key, EVENTS, {"wait": "30"}), retrieve(merchant.key, payment_id, "?wait=30")]

        async def scene() -> list[Any]:
            tasks = await begun(world, *calls)
            world.context.waiters.close()
            return [answer.json()["data"] for answer in await asyncio.gather(*tasks)]

        nothing, pending = world.run(scene())
        assert nothing == {"items": [], "nextCursor": None, "hasMore": False}
        assert pending["status"] == "pending"


def test_a_server_that_stops_answers_those_who_wait() -> None:
    with live() as world:
        merchant = world.merchants[0]

        async def scene() -> list[Any]:
            call = asking(merchant.key, EVENTS, {"wait": "30"})
            tasks = [asyncio.create_task(world.sent(call)) for _ in range(WAITS_OF_KEY_MAX + 1)]
            # The one too many is refused when all others wait.
            [late], waits = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            assert late.result().status_code == 429
            world.process.send_signal(signal.SIGTERM)
            return [answer.json()["data"] for answer in await asyncio.gather(*waits)]

        assert world.run(scene()) == [{"items": [], "nextCursor": None, "hasMore": False}] * WAITS_OF_KEY_MAX
        wait_until(lambda: world.process.poll() is not None)
