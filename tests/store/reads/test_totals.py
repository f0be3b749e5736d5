"""Totals, reports and places in an account's sequence agree with the ledger at any moment, whatever was counted so far.

The ledgers are made of transfers that no command makes as well, on databases without their guards.
"""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qirsh.domain.ledger import Balance, Kind, Transfer
from qirsh.domain.total import END_OF_TIME, QUARTER_MS, AccountTotal, Moved, Sums, fold, totals_before
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.language.local_time import local_day, midnight_ms
from qirsh.store.interface import Query, Store
from qirsh.store.postgres.store import open_postgres
from qirsh.store.reads import totals
from qirsh.store.reads.account_entries import Position, position_before
from qirsh.store.reads.reports import read_report
from qirsh.store.reads.totals import TotalsBehind, last_total, sums_between, sums_until, totals_at
from qirsh.store.sqlite.store import SqliteStore
from qirsh.workers.totaler import Totaler
from tests.domain.world import ENTROPY_SEED
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, SqliteHand, disarmed_on, fill, open_store
from tests.store.test_conformance import Act

SHOP: Final = FILLED.shop
OTHER: Final = FILLED.other.account
CURRENCY: Final = "SYP"  # Of which nobody has any before.
EXAMPLES: Final = max(8, settings().max_examples // 4)
ZONES: Final = [
    ZoneInfo(name)
    for name in ("Asia/Kathmandu", "Australia/Lord_Howe", "Europe/Istanbul", "America/St_Johns", "Asia/Damascus")
]
# Just before clocks are changed somewhere: Newfoundland in March and November, Lord Howe in April and October.
BEGINS: Final = [
    int(datetime(2026, *day, tzinfo=UTC).timestamp()) * 1000 for day in ((3, 7), (4, 4), (10, 3), (10, 31))
]
HOUR_MS: Final = 3_600_000
PAUSES: Final = [0, 1, 1000, 100_000, QUARTER_MS - 1, QUARTER_MS, HOUR_MS, 7 * HOUR_MS, 25 * HOUR_MS]
BACK: Final = [-1, -1000, -QUARTER_MS, -2 * HOUR_MS]

Scene = Callable[[Store], Awaitable[None]]
steps = st.lists(
    st.tuples(
        st.sampled_from([*PAUSES, *PAUSES, *BACK]),
        st.sampled_from(
            ["pay", "pay", "pay", "refund", "fee", "deposit", "withdrawal", "mint", "reversal", "correction"]
        ),
        st.booleans(),
        st.integers(1, 1000),
        st.sampled_from([False, False, True]),  # Whether the worker looks then.
    ),
    min_size=1,
    max_size=14,
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file without guards, to be copied."""
    path = tmp_path_factory.mktemp("bare") / "qirsh.db"
    fill(path)
    with closing(SqliteHand(path)) as hand:
        hand.disarm()
    return path


@contextmanager
def _place(server: PostgresServer | None, bare: Path) -> Iterator[Path | str]:
    if server is not None:
        with server.database(disarmed_on(server)) as url:
            yield url
        return
    path = bare.with_name("copy.db")
    shutil.copy(bare, path)
    try:
        yield path
    finally:
        for file in path.parent.glob("copy.db*"):
            file.unlink()


def _unchecked(store: SqliteStore) -> SqliteStore:
    """A CHECK cannot be taken away, but looked past."""
    store._writer.execute("PRAGMA ignore_check_constraints = ON")  # noqa: SLF001 - nobody else needs it
    return store


def played(server: PostgresServer | None, bare: Path, scene: Scene) -> None:
    """On a copy that is nobody else's."""

    async def play(place: Path | str) -> None:
        if isinstance(place, Path):
            store: Store = _unchecked(open_store(place))
        else:
            clock, entropy = ManualClock(FILLED.now), SeededEntropy(ENTROPY_SEED)
            store = await open_postgres(place, clock=clock, entropy=entropy)
        try:
            await scene(store)
        finally:
            await store.close()

    with _place(server, bare) as place:
        asyncio.run(play(place))


class Shop:
    """A shop's ledger, written without rules, and what plain Python makes of it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.moves: list[Moved] = []
        self.held = 0

    async def move(self, *moves: tuple[Kind, int, int]) -> None:
        """Kind, change and time of each."""
        added = []
        for kind, change, at in moves:
            self.held += change
            moved = Moved(len(self.moves) + 1, kind, change, at)
            self.moves.append(moved)
            added.append(self._transfer(moved))

        def write(work: UnitOfWork) -> None:
            work.transfers.extend(added)
            key = (SHOP, CURRENCY)
            work.balances.put(key, Balance(*key, self.held, len(self.moves), is_house=False))

        await self.store.transact(Act(write, needs={"balances": {(SHOP, CURRENCY)}}))

    def _transfer(self, moved: Moved) -> Transfer:
        is_debit = moved.change < 0
        fields: dict[str, Any] = {
            "debit": SHOP if is_debit else OTHER,
            "credit": OTHER if is_debit else SHOP,
            "debit_sequence": moved.sequence,
            "credit_sequence": moved.sequence,
            "debit_balance": self.held if is_debit else -self.held,
            "credit_balance": -self.held if is_debit else self.held,
        }
        return Transfer(
            kind=moved.kind,
            currency=CURRENCY,
            amount=abs(moved.change),
            payment=None,
            bank_order=None,
            reverses=None,
            created_at=moved.created_at,
            **fields,
        )

    async def count(self, times: int = 100) -> None:
        """Until there is nothing left, or for some commits."""
        engine = Engine(self.store, on_fatal=lambda: None)
        engine.start()
        worker = Totaler(self.store, engine)
        for _ in range(times):
            if not await worker.count(at_once=1):
                break
        await engine.close()

    def position(self, moment: int) -> Position:
        """All that came before the first at the moment or later."""
        place = next((place for place, moved in enumerate(self.moves) if moved.created_at >= moment), len(self.moves))
        return Position(place, sum(moved.change for moved in self.moves[:place]))

    def sums(self, moment: int) -> Sums:
        [found] = totals_before(None, self.moves, [moment])
        return found.sums

    async def check(self, moments: list[int]) -> None:
        """That all readers see the same, at some moments and after each transfer."""
        await self.check_at(moments)
        for moved in self.moves:
            [*_, whole] = fold(SHOP, CURRENCY, None, self.moves[: moved.sequence])
            place = {"sequence": moved.sequence, "created_at": moved.created_at}
            assert await sums_until(self.store, SHOP, CURRENCY, **place) == whole.sums

    async def check_at(self, moments: list[int]) -> None:
        found = await totals_at(self.store, SHOP, CURRENCY, moments)
        assert [(each.sequence, each.sums) for each in found] == [
            (self.position(moment).sequence, self.sums(moment)) for moment in moments
        ]
        for moment in moments:
            assert await position_before(self.store, SHOP, CURRENCY, moment) == self.position(moment)
        between = await sums_between(self.store, SHOP, CURRENCY, moments)
        assert sum(each.net for each in between) == found[-1].sums.net - found[0].sums.net

    async def check_days(self, zone: ZoneInfo) -> None:
        """A report of all days of a zone: proved, and each day is what moved on it."""
        times = [moved.created_at for moved in self.moves]
        first, last = local_day(min(times), zone), local_day(max(times), zone)
        days = [first + timedelta(days=number) for number in range(-1, (last - first).days + 2)]
        moments = [midnight_ms(day, zone) for day in (*days, days[-1] + timedelta(days=1))]
        assert all(moment % QUARTER_MS == 0 for moment in moments)
        report = await read_report(self.store, SHOP, CURRENCY, days=days, moments=moments)
        assert report.faults == ()
        assert (report.opening, report.closing) == (0, self.held)
        assert report.sums == self.sums(END_OF_TIME)
        for day in report.days:
            assert day.opening + day.sums.net == day.closing
            assert day.sums == self._of_day(day.day, zone)

    def _of_day(self, day: date, zone: ZoneInfo) -> Sums:
        """By the latest time so far: where a clock went back, a day that has ended does not begin again."""
        latest, own = 0, []
        for moved in self.moves:
            latest = max(latest, moved.created_at)
            if local_day(latest, zone) == day:
                own.append(moved)
        numbered = [Moved(place, *moved[1:]) for place, moved in enumerate(own, 1)]
        rows = fold(SHOP, CURRENCY, None, numbered)
        return rows[-1].sums if rows else Sums()


@settings(max_examples=EXAMPLES)
@given(begin=st.sampled_from(BEGINS), drawn=steps, data=st.data())
def test_every_reader_agrees_with_the_ledger_at_any_moment(
    engine: PostgresServer | None,
    bare: Path,
    begin: int,
    drawn: list[tuple[int, Kind, bool, int, bool]],
    data: st.DataObject,
) -> None:
    async def scene(store: Store) -> None:
        shop, at = Shop(store), begin
        for pause, kind, is_debit, amount, is_counted in drawn:
            at += pause
            await shop.move((kind, -amount if is_debit else amount, at))
            if is_counted:
                await shop.count(data.draw(st.integers(1, 4)))
        times = [moved.created_at for moved in shop.moves]
        near = st.integers(min(times) - HOUR_MS, max(times) + HOUR_MS) | st.sampled_from(times)
        quarters = near.map(lambda moment: moment - moment % QUARTER_MS)
        moments = sorted(data.draw(st.lists(near | quarters, min_size=1, max_size=6)))
        for is_counted in (False, True):
            if is_counted:
                await shop.count()
                last, is_proved = await last_total(store, SHOP, CURRENCY)
                assert last is not None
                assert (last.sequence, is_proved) == (len(shop.moves), True)
            await shop.check([*moments, END_OF_TIME])
            await shop.check_days(data.draw(st.sampled_from(ZONES)))

    played(engine, bare, scene)


def test_the_worker_keeps_what_plain_counting_makes(engine: PostgresServer | None, bare: Path) -> None:
    async def scene(store: Store) -> None:
        shop = Shop(store)
        for number in range(40):
            await shop.move(
                ("pay", number + 1, BEGINS[0] + number * 400_000), ("refund", -1, BEGINS[0] + number * 399_000)
            )
        await shop.count()
        columns = ", ".join(AccountTotal.__struct_fields__)
        rows = await store.search(
            Query(f"SELECT {columns} FROM account_total WHERE currency = $1 ORDER BY quarter"),  # noqa: S608 - our own names
            CURRENCY,
        )
        assert [AccountTotal(*row) for row in rows] == fold(SHOP, CURRENCY, None, shop.moves)

    played(engine, bare, scene)


def test_a_year_of_days_is_read_with_two_queries(
    engine: PostgresServer | None, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(store: Store) -> None:
        shop = Shop(store)
        day_ms = 24 * HOUR_MS
        await shop.move(*(("pay", 7, BEGINS[0] + number * day_ms // 2) for number in range(700)))
        await shop.count()
        await shop.move(("pay", 7, BEGINS[0] + 350 * day_ms))
        asked = 0
        search = store.search

        async def counted(query: Query, *arguments: object) -> list[tuple[Any, ...]]:
            nonlocal asked
            asked += 1
            return await search(query, *arguments)

        monkeypatch.setattr(store, "search", counted)
        moments = [BEGINS[0] + number * day_ms for number in range(367)]
        bars = await sums_between(store, SHOP, CURRENCY, moments)
        assert asked == 2
        assert [bar.taken for bar in bars] == [14] * 350 + [7] + [0] * 15

    played(engine, bare, scene)


def test_what_is_not_counted_by_far_is_not_read_while_somebody_waits(
    engine: PostgresServer | None, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "_FEW", 4)
    monkeypatch.setattr(totals, "TOTALLED_AT_ONCE", 4)
    monkeypatch.setattr(totals, "TOTALS_BEHIND_MAX", 20)

    async def scene(store: Store) -> None:
        shop = Shop(store)
        await shop.move(*(("pay", 1, BEGINS[0] + number) for number in range(30)))
        with pytest.raises(TotalsBehind):
            await totals_at(store, SHOP, CURRENCY, [END_OF_TIME])
        with pytest.raises(TotalsBehind):
            await sums_until(store, SHOP, CURRENCY, sequence=30, created_at=BEGINS[0] + 29)
        await shop.check_at([BEGINS[0] + 10])
        await shop.count()
        await shop.check_at([BEGINS[0] + 10, END_OF_TIME])

    played(engine, bare, scene)


def test_a_report_that_the_ledger_does_not_agree_with_says_so_and_so_does_the_log(
    engine: PostgresServer | None, bare: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(store: Store) -> None:
        shop = Shop(store)
        await shop.move(("pay", 500, BEGINS[0]), ("pay", 300, BEGINS[0] + 2 * QUARTER_MS))
        await shop.count()
        last, _ = await last_total(store, SHOP, CURRENCY)
        assert last is not None

        def spoil(work: UnitOfWork) -> None:
            key = (SHOP, CURRENCY, last.quarter)
            row = work.account_totals.get(key)
            assert row is not None
            work.account_totals.change(key, msgspec.structs.replace(row, taken=row.taken + 1))

        await store.transact(Act(spoil, needs={"account_totals": {(SHOP, CURRENCY, last.quarter)}}))
        day = datetime.fromtimestamp(BEGINS[0] // 1000, UTC).date()
        moments = [BEGINS[0] - BEGINS[0] % (24 * HOUR_MS), BEGINS[0] + 24 * HOUR_MS]
        with caplog.at_level(logging.CRITICAL):
            report = await read_report(store, SHOP, CURRENCY, days=[day], moments=moments)
        assert report.faults == ("totals say 801 after 2 transfers, the ledger 800",)
        assert [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"] == [
            f"a report of account {SHOP} in {CURRENCY} is wrong: totals say 801 after 2 transfers, the ledger 800"
        ]

    played(engine, bare, scene)
