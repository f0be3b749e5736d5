"""Finding payments by what a person types: what a plain look over all of them finds, and nobody else's."""

# Arabic, Turkish and Greek letters are what this is about, also those that look like others.
# ruff: noqa: RUF001

import asyncio
import base64
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qirsh.domain.event import TYPES
from qirsh.domain.payment_word import words_in, words_of
from qirsh.store.reads import payment_search
from qirsh.web.http import payments
from qirsh.workers.payment_indexer import PaymentIndexer
from tests.live import (
    PAYMENTS,
    Customer,
    InProcess,
    Live,
    Merchant,
    create,
    field_errors,
    in_process,
    pay,
    retrieve,
)
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.web.lists import EVENTS, asking, cancel, ids, refund, walk, walked

CURRENCIES: Final = ("SYP", "USD", "TRY", "EUR")
STATUSES: Final = ("pending", "paid", "cancelled", "expired")
NOTES: Final = (
    *("", "Two coffees", "İki kahve", "قهوة بالحليب", "قَهوه سادة", "Table 7", "masa 7", "Çay 12.50", "coffee"),
    " ".join(f"word{n}" for n in range(40)),
)
REFERENCES: Final = (None, "order-7", "order-1042", "A-7", "202611170042")
METADATA: Final[tuple[dict[str, object], ...]] = (
    {},
    {"cart": "c-5581"},
    {"cart": "C-5581", "who": "Ahmet Çağrı"},
    {"basket": [{"sku": "TEA-250"}, {"sku": "coffee beans"}], "n": 1042},
    {"who": "أحمد", "city": "دمشق"},
)
TYPED: Final = (
    *("coffee", "COFFEES two", "iki KAHVE", "kahve", "قهوه", "قهوة", "سادة قهوة", "7", "table 7", "masa", "1042"),
    *("order", "order-1042", "a-7", "c-5581", "cart:c-5581", "cart:C-5581", "who:أحمد", "احمد", "ahmet cagri"),
    *("tea 250", "beans", "word3 word31", "word39", "دمشق أحمد", "nothing", "coffee nothing", "!!!", "x"),
    *('"order"', '"202611170042"', "0.07", "0,07", "٠٫٠٧", "0.07 USD", "$0.12", "12,00 TRY", "12.50", "999"),
    *("1.234,56 EUR", "coffee order", "kahve 7", "قهوة 1042", "7 order two", "c-5581 order-1042 coffee", "ahmet 7"),
)


def index_all(world: InProcess) -> None:
    """What the worker does a few times a second, until nothing is left."""

    async def indexed() -> None:
        worker = PaymentIndexer(world.context.store, world.context.engine)
        while await worker.look():
            pass

    world.run(indexed())


def fits_text(item: dict[str, Any], text: str) -> bool:
    """By plain Python, over what GET shows; for texts of which it is known what they are."""
    amounts = {"0.07": (7, None), "0,07": (7, None), "٠٫٠٧": (7, None), "0.07 USD": (7, "USD"), "$0.12": (12, "USD")}
    amounts |= {"12,00 TRY": (1200, "TRY"), "12.50": (1250, None), "1.234,56 EUR": (123456, "EUR")}
    if text in amounts:
        amount, currency = amounts[text]
        return bool(item["amount"] == amount and currency in {None, item["currency"]})
    if ":" in text:
        key, _, value = text.partition(":")
        return bool(item["metadata"].get(key) == value)
    words = set(words_in(text))
    found = words_of(note=item["note"], reference=item["reference"], metadata=item["metadata"])
    return bool(words) and words <= set(found)


class Catalogue:
    """A shop with payments that share words, some paid and some refunded, and all of them as GET shows them."""

    def __init__(self, world: InProcess, count: int = 120) -> None:
        self.world = world
        self.merchant, self.rival = world.merchant(), world.merchant()
        self.payers = [world.customer() for _ in range(3)]
        chosen = random.Random(11)
        made: list[str] = []
        for _ in range(count // 4):
            bodies = [self._body(chosen) for _ in range(4)]  # In one batch, with one time.
            answers = world.together(create(self.merchant.key, body) for body in bodies)
            world.together(create(self.rival.key, body) for body in bodies)
            made += [answer.json()["data"]["id"] for answer in answers]
            world.clock.advance(chosen.choice([0, 1, 1, 250]))
        paid = []
        for payment_id in chosen.sample(made, len(made) * 3 // 4):
            if chosen.random() < 0.8:
                world.data(pay(chosen.choice(self.payers), payment_id))
                paid.append(payment_id)
            else:
                world.data(cancel(self.merchant.key, payment_id))
            world.clock.advance(chosen.choice([0, 0, 5]))
            if chosen.random() < 0.4:
                world.paid(self.rival, chosen.choice(self.payers), amount=7, note="coffee")
        self.refunds = {}
        for payment_id in chosen.sample(paid, 20):
            self.refunds[world.data(refund(self.merchant.key, payment_id, amount=1))["id"]] = payment_id
        world.clock.advance(300_000)
        world.expire_due()
        index_all(world)
        shown = [world.data(retrieve(self.merchant.key, payment_id)) for payment_id in made]
        with world.books() as books:
            numbers = {payment_id: books.payment_number(payment_id) for payment_id in made}
        self.all = sorted(shown, key=lambda item: (item["createdAt"], numbers[item["_id"]]), reverse=True)
        assert {item["status"] for item in self.all} == set(STATUSES)

    def _body(self, chosen: random.Random) -> dict[str, Any]:
        body: dict[str, Any] = {"amount": chosen.choice([7, 7, 12, 1200, 1250]), "currency": chosen.choice(CURRENCIES)}
        body |= {"expiresIn": chosen.choice([300, 604_800]), "metadata": chosen.choice(METADATA)}
        body["note"] = chosen.choice(NOTES)
        if (reference := chosen.choice(REFERENCES)) is not None:
            body["reference"] = reference
        return body

    def expected(self, **query: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - texts of any filter
        """By plain Python, over everything."""
        text = query.pop("q", None)
        return [
            item
            for item in self.all
            if (text is None or fits_text(item, text)) and all(item[name] == query[name] for name in query)
        ]

    def found(self, **query: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - texts of any filter
        return walk(self.world, self.merchant.key, **query)


def some_events(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Of each type."""
    key = catalogue.merchant.key
    told = [catalogue.world.data(asking(key, EVENTS, {"limit": "30", "type": kind})) for kind in TYPES]
    return [event for page in told for event in page["items"]]


@pytest.fixture(scope="module")
def catalogue(engine: PostgresServer | None) -> Iterator[Catalogue]:
    with in_process(engine) as world:
        yield Catalogue(world)


# Exactly those that were typed for.


def test_each_text_finds_what_a_look_over_all_payments_finds(catalogue: Catalogue) -> None:
    found = 0
    for text in TYPED:
        expected = catalogue.expected(q=text)
        found += bool(expected)
        for limit in (3, 100):
            assert catalogue.found(q=text, limit=limit) == expected, text
    assert found > 25, "most of them are there to be found"


@pytest.mark.both_engines
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_with_any_filters_finds_what_a_plain_look_finds(catalogue: Catalogue, data: st.DataObject) -> None:
    filters: dict[str, st.SearchStrategy[str]] = {
        "q": st.sampled_from(TYPED),
        "status": st.sampled_from(STATUSES),
        "currency": st.sampled_from(CURRENCIES),
        "reference": st.sampled_from(["order-7", "A-7"]),
    }
    query = data.draw(st.fixed_dictionaries({"q": filters.pop("q")}, optional=filters))
    limit = data.draw(st.sampled_from([1, 3, 20, 100]))
    is_by_paying = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patched:
        looked_at = data.draw(st.sampled_from([2, 9, 1000]))
        for module in (payment_search, payments):
            patched.setattr(module, "LIST_LOOKED_AT_MAX", looked_at)
        patched.setattr(payment_search, "_PROBED", data.draw(st.sampled_from([1, 5, 100])))
        more = {"paidAfter": "1970-01-01T00:00:00Z"} if is_by_paying else {}
        found = catalogue.found(**query, **more, limit=limit)
    expected = catalogue.expected(**query)
    if is_by_paying:
        expected = [item for item in expected if item["paidAt"] is not None]
        assert sorted(ids(found)) == sorted(ids(expected))
    else:
        assert found == expected


def test_a_payment_is_found_by_its_number_and_only_with_what_else_is_asked_for(catalogue: Catalogue) -> None:
    for item in catalogue.all[:12]:
        number = item["_id"]
        for typed in (number, " ".join(number[start : start + 4] for start in range(0, 16, 4))):
            assert catalogue.found(q=typed) == [item]
        assert catalogue.found(q=number, status=item["status"], currency=item["currency"]) == [item]
        other = next(status for status in STATUSES if status != item["status"])
        assert catalogue.found(q=number, status=other) == []
        assert catalogue.found(q=number, createdBefore=item["createdAt"]) == []
        is_paid = item["paidAt"] is not None
        assert catalogue.found(q=number, paidAfter="1970-01-01T00:00:00Z") == ([item] if is_paid else [])
        assert catalogue.found(q=number, paidBefore="1970-01-01T00:00:00Z") == []


@pytest.mark.both_engines
def test_refunds_and_events_lead_to_their_payment(catalogue: Catalogue) -> None:
    by_id = {item["_id"]: item for item in catalogue.all}
    for refund_id, payment_id in catalogue.refunds.items():
        assert catalogue.found(q=refund_id) == [by_id[payment_id]]
    events = some_events(catalogue)
    assert {event["type"] for event in events} == set(TYPES)
    for event in events:
        payment_id = event["data"].get("payment", event["data"])["_id"]
        assert catalogue.found(q=event["id"]) == [by_id[payment_id]]
    unknown = events[0]["id"].rpartition("_")[0]
    assert catalogue.found(q=f"{unknown}_999999") == catalogue.found(q=f"rf_{'0' * 24}") == []


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("looked_at", "limits"),
    [(9, (4, 100)), *(pytest.param(n, (1, 4, 100), marks=pytest.mark.slow) for n in (2, 5, 500))],
)
def test_a_payer_s_payments_are_found_however_much_the_payer_does_elsewhere(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, looked_at: int, limits: tuple[int, ...]
) -> None:
    monkeypatch.setattr(payment_search, "_LOADED_AT_ONCE", 3)
    for module in (payment_search, payments):
        monkeypatch.setattr(module, "LIST_LOOKED_AT_MAX", looked_at)
    for payer in catalogue.payers:
        expected = [item for item in catalogue.all if item["from"] == payer.account]
        assert expected
        for limit in limits:
            assert catalogue.found(q=payer.account, limit=limit) == expected
        for currency in CURRENCIES:
            wanted = [item for item in expected if item["currency"] == currency]
            assert catalogue.found(q=payer.account, currency=currency) == wanted
        assert catalogue.found(q=payer.account, status="expired") == []
        late = catalogue.found(q=payer.account, paidAfter="1970-01-01T00:00:00Z")
        assert sorted(ids(late)) == sorted(ids(expected))


def test_a_regular_s_payments_are_found_among_those_at_other_shops(
    still: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paid as soon as they were made, so that the payer's own transfers lead to the newest of them."""
    merchant, rival, payer = still.merchant(), still.merchant(), still.customer()
    chosen, own = random.Random(12), []
    for _ in range(40):
        if chosen.random() < 0.5:
            own.append(still.paid(merchant, payer, currency=chosen.choice(CURRENCIES)))
        else:
            still.paid(rival, payer, currency=chosen.choice(CURRENCIES))
        still.clock.advance(chosen.choice([0, 1, 1000]))
    for looked_at in (2, 5, 11, 500):
        for module in (payment_search, payments):
            monkeypatch.setattr(module, "LIST_LOOKED_AT_MAX", looked_at)
        for limit, loaded in ((1, 1), (3, 2), (3, 64), (100, 7)):
            monkeypatch.setattr(payment_search, "_LOADED_AT_ONCE", loaded)
            assert ids(walk(still, merchant.key, q=payer.account, limit=limit)) == own[::-1]


@pytest.mark.both_engines
def test_refunded_ones_are_listed_alone_and_with_all_else(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter of pages; the API gains it when somebody asks."""
    world, account = catalogue.world, int(catalogue.merchant.account)
    context = world.context

    async def all_of(**wanted: Any) -> list[str]:  # noqa: ANN401 - fields of the filter
        found, cursor, pages = [], None, 0
        while pages < 1000:
            asked = payment_search.PaymentFilter(account, is_refunded=True, **wanted)
            page, cursor = await payments.list_payments(context, asked, cursor=cursor, limit=3)
            found += [context.identifiers.payment_id(payment.number) for payment in page]
            if cursor is None:
                return found
            pages += 1
        raise AssertionError("the list has no end")

    refunded = [item for item in catalogue.all if item["refundedAmount"]]
    payer = int(catalogue.payers[0].account)
    for looked_at in (2, 500):
        for module in (payment_search, payments):
            monkeypatch.setattr(module, "LIST_LOOKED_AT_MAX", looked_at)
        assert world.run(all_of()) == ids(refunded)
        assert world.run(all_of(status="paid")) == ids(refunded)
        assert world.run(all_of(status="pending")) == []
        for currency in CURRENCIES:
            wanted = [item for item in refunded if item["currency"] == currency]
            assert world.run(all_of(currency=currency)) == ids(wanted)
        assert world.run(all_of(words=("coffee",))) == [x["_id"] for x in refunded if fits_text(x, "coffee")]
        assert world.run(all_of(amount=7)) == [item["_id"] for item in refunded if item["amount"] == 7]
        assert world.run(all_of(payer=payer)) == [item["_id"] for item in refunded if item["from"] == str(payer)]
        assert world.run(all_of(reference="A-7")) == [x["_id"] for x in refunded if x["reference"] == "A-7"]


# Whose they are.


@pytest.mark.both_engines
def test_nobody_finds_another_merchants_payments(catalogue: Catalogue) -> None:
    world, stranger = catalogue.world, catalogue.world.merchant()
    texts = [*TYPED, catalogue.all[0]["_id"], catalogue.payers[0].account, *catalogue.refunds]
    texts.append(some_events(catalogue)[0]["id"])
    for key in (stranger.key, catalogue.merchant.test_key):
        for text in texts:
            assert walk(world, key, q=text) == []
    own = world.payment(stranger, note="coffee")
    index_all(world)
    assert ids(walk(world, stranger.key, q="coffee")) == [own]
    for text in ("coffee", "0.07"):
        mine = set(ids(catalogue.all))
        assert set(ids(catalogue.found(q=text))) <= mine
        theirs = set(ids(walk(world, catalogue.rival.key, q=text)))
        assert theirs
        assert not theirs & mine


def test_a_cursor_names_nothing_of_what_a_payer_does_elsewhere(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (payment_search, payments):
        monkeypatch.setattr(module, "LIST_LOOKED_AT_MAX", 5)
    world, key = catalogue.world, catalogue.merchant.key
    own = {item["_id"] for item in catalogue.all}
    query = {"q": catalogue.payers[0].account, "limit": "2"}
    cursors = 0
    while True:
        told = world.data(asking(key, PAYMENTS, query))
        if told["nextCursor"] is None:
            break
        cursors += 1
        kind, _, named = base64.urlsafe_b64decode(f"{told['nextCursor']}==").decode().split(".")
        assert kind == "c"
        assert named in own
        query["cursor"] = told["nextCursor"]
    assert cursors > 5
    nobody = str(world.context.identifiers.account_number(299_999))
    assert world.data(asking(key, PAYMENTS, {"q": nobody})) == {"items": [], "nextCursor": None, "hasMore": False}


# What is refused.


WRONG_QUERIES: Final = [
    ("q=", {"q": "too_short"}),
    ("q=" + "x" * 201, {"q": "too_long"}),
    ("q=a%00b", {"q": "control_character"}),
    ("q=a%0Ab", {"q": "control_character"}),
    ("q=a&q=b", {"q": "repeated"}),
    ("Q=a", {"Q": "unknown_parameter"}),
]


def test_a_wrong_text_is_named(still: InProcess, subtests: pytest.Subtests) -> None:
    for query, errors in WRONG_QUERIES:
        with subtests.test(query):
            assert field_errors(still.send(asking(still.merchants[0].key, PAYMENTS, query))) == errors


@pytest.mark.both_engines
def test_signs_of_any_query_language_are_plain_text(still: InProcess, subtests: pytest.Subtests) -> None:
    for text in (
        "%",
        "_",
        "'",
        '"',
        "\\",
        "a' OR '1'='1",
        "'; DROP TABLE payment; --",
        "$1",
        "?",
        "null",
        "%:%",
        "x" * 200,
    ):
        with subtests.test(text):
            assert walk(still, still.merchants[1].key, q=text) == []


# While others are at work.


async def _made(world: Live, merchant: Merchant, count: int) -> list[str]:
    calls = [create(merchant.key, amount=7, currency=CURRENCIES[n % 4], note="tea for two") for n in range(count)]
    answers = await asyncio.gather(*(world.sent(call) for call in calls))
    return [answer.json()["data"]["id"] for answer in answers]


def test_each_payment_is_on_exactly_one_page_while_others_are_made_and_written_down(world: Live) -> None:
    merchant = world.merchant()

    async def scene(there: set[str]) -> None:
        stop = asyncio.Event()

        async def churned() -> None:
            while not stop.is_set():
                await _made(world, merchant, 8)

        churn = asyncio.create_task(churned())
        for text in ("tea two", "0.07"):
            for found in await asyncio.gather(*(walked(world, merchant.key, limit=n, q=text) for n in (3, 20, 100))):
                assert len(set(ids(found))) == len(found), "a payment was on two pages"
                assert there <= set(ids(found)), "a payment was on no page"
        stop.set()
        await churn

    there = set(world.run(_made(world, merchant, 60)))
    wait_until(lambda: there <= set(ids(walk(world, merchant.key, limit=100, q="tea"))))
    world.run(scene(there))


def test_a_new_payment_is_soon_found_by_its_words_and_its_amount(world: Live) -> None:
    merchant, customer = world.merchant(), world.customers[0]
    assert isinstance(customer, Customer)
    payment_id = world.payment(merchant, note="Soon found", amount=4321, metadata={"deep": {"er": "buried"}})
    for text in ("found SOON", "buried", "43.21"):
        wait_until(lambda text=text: ids(walk(world, merchant.key, q=text)) == [payment_id])  # type: ignore[misc]
