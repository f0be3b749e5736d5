"""Searches for payments look at a bounded number of rows, along indexes, on every engine, whatever the tables hold."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.payment_index import PaymentIndex, PaymentPlace
from qirsh.store.interface import Query, Store
from qirsh.store.postgres.store import PostgresStore
from qirsh.store.reads.payment_search import END_OF_TIME, FoundPayments, PaymentFilter, search_payments
from tests.store.filled import FILLED
from tests.store.test_conformance import ENGINES, Database, Make, Play, asking, player, submit

SHOP: Final = FILLED.shop
COUNT: Final = 4 * LIST_LOOKED_AT_MAX
RARE_EVERY: Final = 100
SECOND: Final = r"\(created_at,payment\)>\(\?,\?\) AND created_at<\?"  # From the cursor to the end of its second.


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Make]]:
    with ENGINES[request.param]() as make:
        yield request.param, make


@pytest.fixture(scope="module")
def template(engine: tuple[str, Make], tmp_path_factory: pytest.TempPathFactory) -> Database:
    database = engine[1](tmp_path_factory.mktemp("template"))
    database.fill(FILLED)
    player(database)(_fill_in)
    return database


async def _fill_in(store: Store) -> None:
    """Many payments of one shop: one word that all have, one that half of them have, and a rare one."""
    for _ in range(COUNT // 500):
        notes = [
            " ".join(["all", "odd" if place % 2 else "even", *([] if place % RARE_EVERY else ["rare"])])
            for place in range(500)
        ]
        asked = (asking(amount=7, currency="TRY", note=note, metadata='{"way":"web"}') for note in notes)
        made = await submit(store, *asked)
        # By fifty, as the worker would: payments of one moment are in several rows.
        for start in range(0, 500, 50):
            index = PaymentIndex()
            for payment in made[start : start + 50]:
                index.add(
                    PaymentPlace(payment.created_at, payment.number),
                    merchant=SHOP,
                    amount=payment.amount,
                    note=payment.note,
                    reference=None,
                    metadata={"way": "web"},
                )
            assert await submit(store, written_down(made[start].number, index)) == [True]


def written_down(block: int, index: PaymentIndex) -> IndexPayments:
    return IndexPayments(block=block, after=block - 1, until=block, words=index.words())


@pytest.fixture
def store(template: Database, tmp_path: Path) -> Play:
    return player(template.copy(tmp_path))


class Watched:
    """A store that remembers what it was asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.searches: list[tuple[Query, tuple[object, ...]]] = []

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        self.searches.append((query, arguments))
        return await self._store.search(query, *arguments)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a store has
        return getattr(self._store, name)


async def looked_at(store: Store, query: Query, arguments: tuple[object, ...]) -> float:
    """How many rows PostgreSQL read, also those for nothing, by the plan that it takes for all arguments."""
    values = ", ".join(str(one) if isinstance(one, int) else f"'{one}'" for one in arguments)

    async def explained(connection: Any) -> str:  # noqa: ANN401 - the driver's
        await connection.execute(f"PREPARE asked AS {query}")
        told = await connection.fetchval(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked ({values})")
        await connection.execute("DEALLOCATE asked")
        return str(told)

    assert isinstance(store, PostgresStore)
    told = await store._searchers.lend(explained)  # noqa: SLF001 - its settings are those that count
    return _read(json.loads(told)[0]["Plan"])


def _read(plan: dict[str, Any]) -> float:
    here = 0.0
    if "Index Name" in plan or "Relation Name" in plan:
        names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
        here = sum(plan.get(name, 0) for name in names) * plan["Actual Loops"]
    return float(here + sum(map(_read, plan.get("Plans", ()))))


async def assert_along_indexes(store: Store, query: Query, arguments: tuple[object, ...]) -> None:
    """SQLite tells no numbers: each table is read from a place in an index that is in the order of the list."""
    rows = await store.search(Query(f"EXPLAIN QUERY PLAN {query}"), *arguments)
    steps = [step for *_, step in rows]
    reads = [step for step in steps if re.match(r"(SCAN|SEARCH) (payment\w*|transfer|p|x)\b", step)]
    assert reads
    for step in reads:
        assert re.match(rf"SEARCH .*(created_at[>=]\?|rowid=\?|debit_sequence>\?|{SECOND})", step), steps


SEARCHES: Final[dict[str, dict[str, Any]]] = {
    "a word that all have": {"words": ("all",)},
    "a rare word": {"words": ("rare",)},
    "a word that nobody has": {"words": ("nobody",)},
    "words that all have": {"words": ("all", "even")},
    "words that are never together": {"words": ("even", "odd")},
    "a rare word among common ones": {"words": ("all", "even", "rare")},
    "an amount": {"amount": 7},
    "an amount in a currency": {"amount": 7, "currency": "TRY"},
    "an amount in a currency that it never had": {"amount": 7, "currency": "EUR"},
    "a word and a status": {"words": ("all",), "status": "paid"},
    "a word and metadata": {"words": ("rare",), "metadata": (("way", "web"),)},
    "metadata that never are": {"words": ("all",), "metadata": (("way", "phone"),)},
    "refunded": {"is_refunded": True},
    "refunded in a currency": {"is_refunded": True, "currency": "TRY"},
    "a word of refunded": {"words": ("all",), "is_refunded": True},
    "a payer": {"payer": FILLED.customer.account},
    "a payer and a word": {"payer": FILLED.customer.account, "words": ("all",)},
}


@pytest.mark.parametrize("is_analyzed", [False, True], ids=["fresh", "analyzed"])
def test_a_page_reads_a_bounded_number_of_rows(
    subtests: pytest.Subtests,
    store: Play,
    engine: tuple[str, Make],
    is_analyzed: bool,  # noqa: FBT001 - drawn
) -> None:
    async def page(opened: Store, wanted: PaymentFilter) -> None:
        keys = len(wanted.words) + len(wanted.metadata) + 1
        watched = Watched(opened)
        await search_payments(watched, wanted, None, 20)
        assert watched.searches
        for query, arguments in watched.searches:
            if engine[0] == "sqlite":
                await assert_along_indexes(opened, query, arguments)
            else:
                assert await looked_at(opened, query, arguments) <= LIST_LOOKED_AT_MAX * (keys + 1) < COUNT * 4

    async def scene(opened: Store) -> None:
        if is_analyzed and engine[0] != "sqlite":
            await opened.search(Query("ANALYZE payment, payment_word, transfer"))
        for name, asked in SEARCHES.items():
            with subtests.test(name):
                await page(opened, PaymentFilter(SHOP, **asked))

    store(scene)


def test_the_rarest_word_leads_and_one_that_nobody_has_ends_the_search(store: Play) -> None:
    async def scene(opened: Store) -> None:
        for words in (("all", "even", "rare"), ("rare", "all"), ("even", "rare")):
            found = await search_payments(opened, PaymentFilter(SHOP, words=words), None, 100)
            assert len(found.numbers) == COUNT // RARE_EVERY
            assert found.next is None, "one page is enough"
        watched = Watched(opened)
        found = await search_payments(watched, PaymentFilter(SHOP, words=("all", "nobody", "even")), None, 100)
        assert found == FoundPayments([], None)
        assert len(watched.searches) == 1

    store(scene)


def test_words_that_are_never_together_take_pages_of_bounded_looks_and_end(store: Play) -> None:
    async def scene(opened: Store) -> None:
        wanted, after, pages = PaymentFilter(SHOP, words=("even", "odd")), None, 0
        while True:
            found = await search_payments(opened, wanted, after, 20)
            pages += 1
            assert found.numbers == []
            if found.next is None:
                break
            after = found.next
        assert pages == COUNT // 2 // LIST_LOOKED_AT_MAX

    store(scene)


def test_a_payment_that_is_created_or_paid_is_not_among_the_refunded(store: Play) -> None:
    """The index has only those of which something went back, so that no create or pay writes it."""

    async def scene(opened: Store) -> None:
        found = await search_payments(opened, PaymentFilter(SHOP, is_refunded=True), None, 100)
        refunded = [payment.number for payment in FILLED.payments.values() if payment.refunded_amount]
        assert sorted(found.numbers) == sorted(refunded)

    store(scene)


@pytest.mark.parametrize("limit", [7, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 40, 300))])
def test_a_walk_meets_every_payment_once_in_order_however_rows_overlap(store: Play, limit: int) -> None:
    """Processes write down what they made at the same time, each on its own, and some of it late."""
    chosen = random.Random(limit)
    places = [PaymentPlace(chosen.randint(5000, 5000 + limit * 100), number) for number in range(1, 400)]

    async def scene(opened: Store) -> None:
        chosen.shuffle(places)
        rest, block = places[:], 10**9
        while rest:
            index = PaymentIndex()
            for place in [rest.pop() for _ in range(min(len(rest), chosen.randint(1, 60)))]:
                index.add(place, merchant=SHOP, amount=1, note="walked", reference=None, metadata={})
            assert await submit(opened, written_down(block := block + 1, index)) == [True]
        for after, before in ((-1, END_OF_TIME), (5020, 5000 + limit * 70)):
            wanted = PaymentFilter(SHOP, words=("walked",), created_after=after, created_before=before)
            met: list[int] = []
            found = FoundPayments([], None)
            while found.next is not None or not met:
                found = await search_payments(opened, wanted, found.next, limit)
                assert found.numbers
                met += found.numbers
            inside = [place for place in places if wanted.created_after < place.created_at < wanted.created_before]
            assert met == [place.number for place in sorted(inside, reverse=True)]

    store(scene)
