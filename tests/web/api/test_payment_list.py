"""The list of payments: each once, in order, exactly those that were asked for, whatever else happens meanwhile."""

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qirsh.store.reads import payment_search
from qirsh.web.http import payments
from qirsh.workers.payment_indexer import PaymentIndexer
from tests.live import PAYMENTS, InProcess, Live, Merchant, World, create, field_errors, in_process, live, pay, retrieve
from tests.postgres import PostgresServer
from tests.web.lists import asking, cancel, ids, page_of, refund, try_out, walk, walked

REFERENCES: Final = (None, "A", "a", "A%", "%", "_", "a'b", "null")
TEXTS: Final = ("red", "Red", "r%", "%", "_", "", "a\nb", "ä🧿", '"', "null", "x" * 200)
KEYS: Final = ("colour", "Colour", "a.b", "", "k]", "%", "__proto__")
CURRENCIES: Final = ("SYP", "USD", "TRY", "EUR")
STATUSES: Final = ("pending", "paid", "cancelled", "expired")
DAY_MS: Final = 24 * 3600 * 1000


def index_all(world: InProcess) -> None:
    """What the worker does a few times a second, until nothing is left."""

    async def indexed() -> None:
        worker = PaymentIndexer(world.context.store, world.context.engine)
        while await worker.look():
            pass

    world.run(indexed())


def at(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


class Catalogue:
    """A shop with payments of every kind, some of one moment, and all of them as GET shows them."""

    def __init__(self, world: InProcess, count: int = 120) -> None:
        self.world = world
        self.merchant, customer = world.merchant(), world.customer()
        chosen = random.Random(7)
        made: list[str] = []
        self.paid_order: list[str] = []
        for _ in range(count // 4):
            bodies = [self._body(chosen) for _ in range(4)]  # In one batch, with one time.
            answers = world.together(create(self.merchant.key, body) for body in bodies)
            made += [answer.json()["data"]["id"] for answer in answers]
            world.clock.advance(chosen.choice([0, 1, 1, 250]))
        for payment_id in chosen.sample(made, len(made) // 2):
            if chosen.random() < 0.6:
                world.data(pay(customer, payment_id))
                self.paid_order.append(payment_id)
            else:
                world.data(cancel(self.merchant.key, payment_id))
            world.clock.advance(chosen.choice([0, 0, 5]))
            if chosen.random() < 0.1:
                world.deposit(self.merchant.account, 100, chosen.choice(CURRENCIES))
        world.data(refund(self.merchant.key, self.paid_order[0], amount=1))
        world.clock.advance(300_000)
        world.expire_due()
        index_all(world)
        shown = [world.data(retrieve(self.merchant.key, payment_id)) for payment_id in made]
        with world.books() as books:
            numbers = {payment_id: books.payment_number(payment_id) for payment_id in made}
        self.all = sorted(shown, key=lambda item: (item["createdAt"], numbers[item["_id"]]), reverse=True)
        assert {item["status"] for item in self.all} == set(STATUSES)

    def _body(self, chosen: random.Random) -> dict[str, Any]:
        body: dict[str, Any] = {"amount": chosen.randint(1, 50), "currency": chosen.choice(CURRENCIES)}
        body["expiresIn"] = chosen.choice([300, 604_800])
        keys = chosen.sample(KEYS, chosen.choice([0, 1, 2, 5]))
        odd: tuple[object, ...] = (7, None, True, ["red"], {"a": "red"}, "y" * 201)
        body["metadata"] = {key: chosen.choice(TEXTS if chosen.random() < 0.8 else odd) for key in keys}
        if (reference := chosen.choice(REFERENCES)) is not None:
            body["reference"] = reference
        return body

    def expected(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """By plain Python, over everything."""
        return [item for item in self.all if _fits(item, query)]


def _fits(item: dict[str, Any], query: dict[str, str]) -> bool:
    def time(text: str) -> datetime:
        return datetime.fromisoformat(text)

    for name, wanted in query.items():
        if name in {"status", "currency", "reference"}:
            fits = item[name] == wanted
        elif name == "createdAfter":
            fits = time(item["createdAt"]) > time(wanted)
        elif name == "createdBefore":
            fits = time(item["createdAt"]) < time(wanted)
        elif name == "paidAfter":
            fits = item["paidAt"] is not None and time(item["paidAt"]) > time(wanted)
        elif name == "paidBefore":
            fits = item["paidAt"] is not None and time(item["paidAt"]) < time(wanted)
        else:
            fits = item["metadata"].get(name.removeprefix("metadata[").removesuffix("]")) == wanted
        if not fits:
            return False
    return True


@pytest.fixture(scope="module")
def catalogue(engine: PostgresServer | None) -> Iterator[Catalogue]:
    with in_process(engine) as world:
        yield Catalogue(world)


def queries(catalogue: Catalogue) -> st.SearchStrategy[dict[str, str]]:
    """Any filters together, with times at, just beside and between those that there are."""
    moments = sorted({item[name] for item in catalogue.all for name in ("createdAt", "paidAt") if item[name]})
    beside = st.builds(
        lambda text, microseconds, hours: (
            (datetime.fromisoformat(text) + timedelta(microseconds=microseconds))
            .astimezone(timezone(timedelta(hours=hours)))
            .isoformat(timespec="microseconds")
        ),
        st.sampled_from(moments),
        st.sampled_from([-1000, -1, 0, 1, 1000]),
        st.integers(-12, 14),
    )
    metadata = {f"metadata[{key}]": st.sampled_from(TEXTS) for key in KEYS[:3]}
    single: dict[str, st.SearchStrategy[str]] = {
        "status": st.sampled_from(STATUSES),
        "currency": st.sampled_from(CURRENCIES),
        "reference": st.sampled_from(REFERENCES[1:]).map(str),
        "createdAfter": beside,
        "createdBefore": beside,
        "paidAfter": beside,
        "paidBefore": beside,
        **metadata,
    }
    return st.fixed_dictionaries({}, optional=single)


# Exactly those that were asked for.


def test_without_filters_every_payment_is_listed_newest_first_as_get_shows_it(catalogue: Catalogue) -> None:
    for limit in (1, 7, 20, 100):
        assert walk(catalogue.world, catalogue.merchant.key, limit=limit) == catalogue.all


@pytest.mark.both_engines
def test_each_value_of_each_filter_finds_exactly_its_own(catalogue: Catalogue) -> None:
    single = [("status", value) for value in STATUSES] + [("currency", value) for value in CURRENCIES]
    single += [("reference", value) for value in REFERENCES if value is not None]
    single += [(f"metadata[{key}]", value) for key in KEYS for value in TEXTS]
    found = 0
    for name, value in single:
        expected = catalogue.expected({name: value})
        found += bool(expected)
        assert walk(catalogue.world, catalogue.merchant.key, **{name: value}) == expected, (name, value)
    assert found > 30, "most of them are there to be found"


@pytest.mark.both_engines
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_filters_together_find_what_a_plain_search_finds(catalogue: Catalogue, data: st.DataObject) -> None:
    query = data.draw(queries(catalogue))
    limit = data.draw(st.sampled_from([1, 2, 3, 20, 100]))
    with pytest.MonkeyPatch.context() as patched:
        looked_at = data.draw(st.sampled_from([2, 9, 1000]))
        for module in (payment_search, payments):
            patched.setattr(module, "LIST_LOOKED_AT_MAX", looked_at)
        found = walk(catalogue.world, catalogue.merchant.key, **query, limit=limit)
    expected = catalogue.expected(query)
    if query.keys().isdisjoint({"paidAfter", "paidBefore"}):
        assert found == expected
    else:
        assert sorted(found, key=lambda item: item["_id"]) == sorted(expected, key=lambda item: item["_id"])
        assert_in_order_of_payment(catalogue, found)


def assert_in_order_of_payment(catalogue: Catalogue, found: list[dict[str, Any]]) -> None:
    """Newest first, and those of one currency in exactly the order in which they were paid."""
    times = [item["paidAt"] for item in found]
    assert times == sorted(times, reverse=True)
    for currency in CURRENCIES:
        places = [catalogue.paid_order.index(item["_id"]) for item in found if item["currency"] == currency]
        assert places == sorted(places, reverse=True)


@pytest.mark.both_engines
def test_few_rows_looked_at_a_page_only_makes_pages_short(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (payment_search, payments):
        monkeypatch.setattr(module, "LIST_LOOKED_AT_MAX", 5)
    long_ago = at(0)
    pairs: list[dict[str, str]] = [
        {"reference": "A", "status": "expired"},
        {"reference": "A", "currency": "EUR", "status": "paid"},
        {"metadata[colour]": "red", "metadata[Colour]": "Red"},
        {"metadata[colour]": "red", "status": "paid"},
        {"paidAfter": long_ago, "reference": "A"},
        {"paidAfter": long_ago, "metadata[colour]": "red"},
        {"paidAfter": long_ago, "createdBefore": catalogue.all[20]["createdAt"]},
    ]
    short = 0
    for query in pairs:
        first = catalogue.world.data(asking(catalogue.merchant.key, PAYMENTS, {**query, "limit": 3}))
        short += first["hasMore"] and len(first["items"]) < 3
        found = walk(catalogue.world, catalogue.merchant.key, **query, limit=3)
        assert sorted(ids(found)) == sorted(ids(catalogue.expected(query)))
    assert short, "a page ended before it was full"


@pytest.mark.both_engines
def test_times_are_compared_to_the_last_digit_and_neither_end_is_included(catalogue: Catalogue) -> None:
    key, moment = catalogue.merchant.key, catalogue.all[30]["createdAt"]
    same = [item for item in catalogue.all if item["createdAt"] == moment]

    def found(name: str, text: str) -> bool:
        return ids(same)[0] in ids(walk(catalogue.world, key, limit=100, **{name: text}))

    seconds = moment.removesuffix("Z")
    assert not found("createdAfter", moment)
    assert not found("createdBefore", moment)
    assert found("createdBefore", f"{seconds}000001Z")
    assert not found("createdAfter", f"{seconds}000001Z")
    before = at(int(datetime.fromisoformat(moment).timestamp() * 1000) - 1)[:23]
    assert found("createdAfter", f"{before}999999Z")
    assert not found("createdBefore", f"{before}999999Z")
    local = datetime.fromisoformat(moment).astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert found("createdBefore", (local + timedelta(milliseconds=1)).isoformat())
    assert not found("createdBefore", local.isoformat())


def test_all_of_time_can_be_asked_for(catalogue: Catalogue) -> None:
    everything = {"createdAfter": "0001-01-01T00:00:00+14:00", "createdBefore": "9999-12-31T23:59:59.999999999-12:00"}
    assert walk(catalogue.world, catalogue.merchant.key, limit=100, **everything) == catalogue.all


def test_the_letters_of_a_time_may_be_small(still: InProcess) -> None:
    key = still.merchants[0].key
    for moment in ("2026-03-01t09:30:00z", "2026-03-01T09:30:00.5z", "2026-03-01t09:30:00%2B03:00"):
        answer = still.send(asking(key, PAYMENTS, f"createdAfter={moment}"))
        assert answer.status_code == 200
        assert answer.json() == still.send(asking(key, PAYMENTS, f"createdAfter={moment.upper()}")).json()


# Whose they are.


@pytest.mark.both_engines
def test_live_and_test_keys_and_other_shops_see_only_their_own(still: InProcess) -> None:
    one, other = still.merchant(), still.merchant()
    fields = {"reference": "same", "metadata": {"same": "same"}}
    live_id, other_id = still.payment(one, **fields), still.payment(other, **fields)
    test_id = still.data(create(one.test_key, amount=100, currency="USD", **fields))["id"]
    still.data(try_out(one.test_key, test_id))
    index_all(still)
    filters: list[dict[str, str]] = [{}, {"reference": "same"}, {"metadata[same]": "same"}, {"currency": "USD"}]
    for query in filters:
        assert ids(walk(still, one.key, **query)) == [live_id]
        assert ids(walk(still, one.test_key, **query)) == [test_id]
        assert ids(walk(still, other.key, **query)) == [other_id]
    assert ids(walk(still, one.test_key, paidAfter=at(0))) == [test_id]
    assert walk(still, other.key, paidAfter=at(0)) == walk(still, one.key, paidAfter=at(0)) == []
    assert [item["livemode"] for key in (one.key, one.test_key) for item in walk(still, key)] == [True, False]


def test_a_shop_without_payments_has_an_empty_list(still: InProcess) -> None:
    merchant = still.merchant()
    answer = still.send(asking(merchant.key, PAYMENTS))
    assert answer.content == b'{"data":{"items":[],"nextCursor":null,"hasMore":false}}'
    assert walk(still, merchant.key, paidAfter=at(0)) == []


def test_a_foreign_cursor_never_shows_foreign_payments(catalogue: Catalogue) -> None:
    world, stranger = catalogue.world, catalogue.world.merchant()
    own = [world.payment(stranger) for _ in range(3)]
    for query in ({"limit": "2"}, {"limit": "2", "paidAfter": at(0)}, {"limit": "1", "reference": "A"}):
        told = world.data(asking(catalogue.merchant.key, PAYMENTS, query))
        shown = walk(world, stranger.key, **query, cursor=told["nextCursor"])
        assert set(ids(shown)) <= set(own)


# What is refused.


def test_a_plus_that_became_a_blank_is_explained(still: InProcess) -> None:
    for name in ("createdAfter", "createdBefore", "paidAfter", "paidBefore"):
        answer = still.send(asking(still.merchants[0].key, PAYMENTS, f"{name}=2026-03-01T09:30:00+03:00"))
        [error] = answer.json()["errors"]
        assert (error["field"], error["code"]) == (name, "invalid")
        assert "%2B" in error["detail"]
    escaped = "createdAfter=2026-03-01T09:30:00%2B03:00"
    assert still.send(asking(still.merchants[0].key, PAYMENTS, escaped)).status_code == 200


WRONG_QUERIES: Final = [
    ("limit=0", {"limit": "out_of_range"}),
    ("limit=101", {"limit": "out_of_range"}),
    ("limit=-1", {"limit": "out_of_range"}),
    ("limit=1000000000", {"limit": "out_of_range"}),
    ("limit=" + "9" * 3000, {"limit": "out_of_range"}),
    ("limit=1e9", {"limit": "wrong_type"}),
    ("limit=5.0", {"limit": "wrong_type"}),
    ("limit=05", {"limit": "wrong_type"}),
    ("limit=%2B5", {"limit": "wrong_type"}),
    ("limit=%205", {"limit": "wrong_type"}),
    ("limit=%D9%A3", {"limit": "wrong_type"}),
    ("limit=null", {"limit": "wrong_type"}),
    ("limit=", {"limit": "wrong_type"}),
    ("limit=5&limit=5", {"limit": "repeated"}),
    ("Limit=5", {"Limit": "unknown_parameter"}),
    ("sort=amount", {"sort": "unknown_parameter"}),
    ("order=1%3BDROP%20TABLE%20payment", {"order": "unknown_parameter"}),
    ("staus=paid", {"staus": "unknown_parameter"}),
    ("status=Paid", {"status": "unknown_value"}),
    ("status=", {"status": "unknown_value"}),
    ("status=null", {"status": "unknown_value"}),
    ("status=NULL", {"status": "unknown_value"}),
    ("status=paid,pending", {"status": "unknown_value"}),
    ("status=paid&status=pending", {"status": "repeated"}),
    ("status[]=paid", {"status[]": "unknown_parameter"}),
    ("status=paid'--", {"status": "unknown_value"}),
    ("currency=usd", {"currency": "unknown_value"}),
    ("currency=null", {"currency": "unknown_value"}),
    ("currency=XXX", {"currency": "unknown_value"}),
    ("reference=" + "x" * 65, {"reference": "too_long"}),
    ("reference=", {"reference": "too_short"}),
    ("reference=a%00", {"reference": "control_character"}),
    ("reference=a%0A", {"reference": "control_character"}),
    ("createdAfter=yesterday", {"createdAfter": "invalid"}),
    ("createdAfter=2026-03-01", {"createdAfter": "invalid"}),
    ("createdAfter=1800000000000", {"createdAfter": "invalid"}),
    ("createdAfter=2026-03-01T09:30:00", {"createdAfter": "invalid"}),
    ("createdAfter=2026-02-30T09:30:00Z", {"createdAfter": "invalid"}),
    ("createdBefore=2026-03-01T24:00:00Z", {"createdBefore": "invalid"}),
    ("createdBefore=2026-03-01T09:30:00+02:00", {"createdBefore": "invalid"}),  # A plus is a blank here.
    ("paidAfter=", {"paidAfter": "invalid"}),
    ("paidAfter=2026-W09-7T09:30:00Z", {"paidAfter": "invalid"}),
    ("metadata=x", {"metadata": "unknown_parameter"}),
    ("metadata.a=x", {"metadata.a": "unknown_parameter"}),
    ("metadata[a]=x&metadata[a]=x", {"metadata[a]": "repeated"}),
    ("metadata[a]=" + "x" * 201, {"metadata[a]": "too_long"}),
    ("metadata[a]=%00", {"metadata[a]": "control_character"}),
    ("metadata[a%00]=x", {"metadata[a\0]": "control_character"}),
    ("metadata[a][b]=x", {"metadata[a][b]": "too_deep"}),
    (f"metadata[{'k' * 65}]=x", {f"metadata[{'k' * 65}]": "key_too_long"}),
    ("reference=%FF", {"": "unreadable"}),
    ("reference=%ED%A0%80", {"": "unreadable"}),
    ("limit", {"": "unreadable"}),
    ("limit=5&", {"": "unreadable"}),
    ("&".join(f"metadata[{n}]=x" for n in range(33)), {"": "unreadable"}),
    ("limit=0&status=x&curency=USD&cursor=", None),
]


def test_a_wrong_parameter_is_named_and_nothing_is_listed(still: InProcess, subtests: pytest.Subtests) -> None:
    for query, errors in WRONG_QUERIES:
        with subtests.test(query):
            answer = still.send(asking(still.merchants[0].key, PAYMENTS, query))
            expected = {
                "limit": "out_of_range",
                "status": "unknown_value",
                "curency": "unknown_parameter",
                "cursor": "too_short",
            }
            assert field_errors(answer) == (expected if errors is None else errors)


WRONG_CURSORS: Final = [
    *("null", "0", "x", "....", "%F0%9F%A7%BF", "' OR 1=1 --", "A" * 200, "===", "-", "eyJhIjoxfQ"),
    *("Yy4x", "Yy4xLjI", "Yy4tMS4xMjM0NTY3ODkwMTIzNDU2", "Yy4xLjEuMQ", "dC4xLjEuMS4x", "cC4xLjEuMQ", "ci4x"),
    *("Yy4xZTkuMQ", "Yy45OTk5OTk5OTk5OTk5OTk5OTk5LjE", "evt_0_123456789012_1"),
]


def test_a_cursor_that_this_list_never_gave_is_refused(still: InProcess, subtests: pytest.Subtests) -> None:
    for cursor in WRONG_CURSORS:
        with subtests.test(cursor):
            key = still.merchants[0].key
            for more in ("", f"&paidAfter={at(0)[:19]}Z"):
                answer = still.send(asking(key, PAYMENTS, f"cursor={cursor}{more}"))
                assert field_errors(answer) == {"cursor": "invalid"}
            assert field_errors(still.send(asking(key, PAYMENTS, "cursor=" + "A" * 201))) == {"cursor": "too_long"}


def test_a_cursor_of_another_list_is_refused(catalogue: Catalogue) -> None:
    world, key = catalogue.world, catalogue.merchant.key
    by_creation = world.data(asking(key, PAYMENTS, {"limit": "1"}))["nextCursor"]
    by_payment = world.data(asking(key, PAYMENTS, {"limit": "1", "paidAfter": at(0)}))["nextCursor"]
    transfers = world.data(asking(key, "/api/v1/transfers", {"limit": "1"}))["nextCursor"]
    assert len({by_creation, by_payment, transfers}) == 3
    for wrong in (by_payment, transfers):
        assert field_errors(world.send(asking(key, PAYMENTS, {"cursor": wrong}))) == {"cursor": "invalid"}
    for wrong in (by_creation, transfers):
        query = {"cursor": wrong, "paidAfter": at(0)}
        assert field_errors(world.send(asking(key, PAYMENTS, query))) == {"cursor": "invalid"}


@pytest.mark.both_engines
def test_signs_of_any_query_language_are_plain_text(still: InProcess, subtests: pytest.Subtests) -> None:
    for text in ("%", "_", "'", '"', "\\", "a' OR '1'='1", "'; DROP TABLE payment; --", "$1", "?", "x\ty"):
        with subtests.test(text):
            merchant = still.merchants[1]
            index_all(still)
            missing = f"{text}{random.random()}"
            reference = text.replace("\t", " ")
            assert walk(still, merchant.key, **{f"metadata[{text}]": missing}) == []
            assert walk(still, merchant.key, reference=f"{reference}!") == []
            payment_id = still.payment(merchant, reference=reference, metadata={text: text})
            index_all(still)
            assert ids(walk(still, merchant.key, reference=reference)) == [payment_id]
            assert ids(walk(still, merchant.key, **{f"metadata[{text}]": text})) == [payment_id]


# While others are at work.


async def churned(world: World, merchant: Merchant, ready: list[str], stop: asyncio.Event) -> None:
    """New payments all the time, and old ones paid, cancelled and refunded."""
    customer = world.customers[0]
    while not stop.is_set():
        made = await asyncio.gather(
            *(world.sent(create(merchant.key, amount=1, currency=currency)) for currency in CURRENCIES)
        )
        new = [answer.json()["data"]["id"] for answer in made]
        moved = [ready.pop() for _ in range(min(2, len(ready)))]
        calls = [pay(customer, payment_id) for payment_id in (*moved[:1], new[0])]
        calls += [cancel(merchant.key, payment_id) for payment_id in (*moved[1:], new[1])]
        for answer in await asyncio.gather(*(world.sent(call) for call in calls)):
            assert answer.status_code == 200, answer.text


# So many payments, and pages of so many. To read a page takes as long as to write some payments.
PAGES: Final = pytest.mark.parametrize(
    ("count", "sizes"), [(40, (1, 7, 100)), pytest.param(80, (1, 3, 7, 20, 100), marks=pytest.mark.slow)]
)


def assert_each_once_meanwhile(world: World, merchant: Merchant, count: int, sizes: tuple[int, ...]) -> None:
    async def scene() -> None:
        answers = await asyncio.gather(
            *(world.sent(create(merchant.key, amount=1, currency=CURRENCIES[n % 4])) for n in range(count))
        )
        there = {answer.json()["data"]["id"] for answer in answers}
        stop = asyncio.Event()
        churn = asyncio.create_task(churned(world, merchant, sorted(there), stop))
        walks = await asyncio.gather(*(walked(world, merchant.key, limit=size) for size in sizes))
        paid = await asyncio.gather(*(walked(world, merchant.key, limit=size, paidAfter=at(0)) for size in sizes))
        stop.set()
        await churn
        for found in (*walks, *paid):
            assert len(set(ids(found))) == len(found), "a payment was on two pages"
        for found in walks:
            assert there <= set(ids(found)), "a payment was on no page"
            times = [item["createdAt"] for item in found]
            assert times == sorted(times, reverse=True)
        for found in paid:
            assert {item["status"] for item in found} == {"paid"}
            times = [item["paidAt"] for item in found]
            assert times == sorted(times, reverse=True)

    world.run(scene())


@PAGES
def test_each_payment_is_on_exactly_one_page_while_others_are_made_paid_and_cancelled(
    world: Live, count: int, sizes: tuple[int, ...]
) -> None:
    assert_each_once_meanwhile(world, world.merchant(), count, sizes)


@PAGES
def test_each_payment_is_on_exactly_one_page_also_when_processes_take_turns(
    postgres: PostgresServer, count: int, sizes: tuple[int, ...]
) -> None:
    with live(postgres, processes=2) as two:
        assert_each_once_meanwhile(two, two.merchants[0], count, sizes)
        assert two.violations() == []


def test_a_list_of_one_status_never_shows_another_while_payments_move(world: Live) -> None:
    merchant = world.merchant()

    async def scene() -> None:
        answers = await asyncio.gather(*(world.sent(create(merchant.key, amount=1, currency="USD")) for _ in range(60)))
        there = [answer.json()["data"]["id"] for answer in answers]
        stop = asyncio.Event()
        churn = asyncio.create_task(churned(world, merchant, list(there), stop))
        for _ in range(4):
            for status in STATUSES[:3]:
                found = await walked(world, merchant.key, limit=5, status=status)
                assert {item["status"] for item in found} <= {status}
                assert len(set(ids(found))) == len(found)
        stop.set()
        await churn

    world.run(scene())


def test_a_payment_is_listed_from_the_moment_its_creation_was_answered(world: Live) -> None:
    merchant = world.merchant()
    for number in range(20):
        payment_id = world.payment(merchant, reference=f"R{number}")
        assert ids(page_of(world.data(asking(merchant.key, PAYMENTS, {"limit": "1"})), 1)) == [payment_id]
        assert ids(walk(world, merchant.key, reference=f"R{number}")) == [payment_id]
        assert ids(walk(world, merchant.key, status="pending"))[0] == payment_id
        world.data(cancel(merchant.key, payment_id))
        assert payment_id not in ids(walk(world, merchant.key, status="pending"))
        assert ids(walk(world, merchant.key, status="cancelled"))[0] == payment_id
