"""What businesses take, give back and pay out is counted soon after it moved: each transfer once, whoever counts."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.commands.total import FollowTotals, RecordTotals
from qirsh.domain.counter import TOTALLED
from qirsh.domain.tables import Tables
from qirsh.domain.total import END_OF_TIME, QUARTER_MS, AccountTotal
from qirsh.store.integrity.total_invariants import NAMES
from qirsh.store.reads.totals import totals_at
from qirsh.workers import forget_totals as forget_module
from qirsh.workers import totaler as totaler_module
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.sealer import Sealer
from qirsh.workers.totaler import Totaler
from tests.live import InProcess, create, in_process, live, refund, trial
from tests.postgres import PostgresServer
from tests.waiting import wait_until


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2) as made:
        yield made


def of(world: InProcess) -> Totaler:
    return Totaler(world.context.store, world.context.engine)


async def sealed(world: InProcess) -> None:
    """All that is there."""
    sealer = Sealer(world.context.store, world.context.engine, world.context.clock)
    await sealer.seal_settled()
    await sealer.seal_settled()


async def counted(world: InProcess, worker: Totaler | None = None) -> int:
    """Until there is nothing more to count: in how many commits."""
    await sealed(world)
    worker, looks = worker or of(world), 0
    while await worker.count():
        looks += 1
    return looks


def rows_of(world: InProcess, account: str, currency: str = "USD") -> list[AccountTotal]:
    columns = ", ".join(AccountTotal.__struct_fields__)
    with world.books() as books:
        rows = books.select(
            f"SELECT {columns} FROM account_total WHERE account = ? AND currency = ? ORDER BY quarter",  # noqa: S608 - ours
            int(account),
            currency,
        )
    return [AccountTotal(*row) for row in rows]


def figures(total: AccountTotal) -> dict[str, int]:
    """Those that are not nothing."""
    sums = total.sums
    return {name: value for name in sums.__struct_fields__ if (value := getattr(sums, name))}


def busy_day(world: InProcess) -> None:
    """Payments, refunds, a deposit and a payout of the shop, with test money beside it."""
    [merchant], customers = world.merchants, world.customers
    for number, customer in enumerate(customers * 2):
        payment = world.paid(merchant, customer, amount=1000 + number)
        world.data(refund(merchant.key, payment, amount=10))
        world.clock.advance(QUARTER_MS // 2)
    world.deposit(merchant.account, 500)
    world.withdraw(merchant.account, 300)
    world.data(trial(merchant.test_key, "pay", world.data(create(merchant.test_key, amount=77))["id"]))


@pytest.mark.both_engines
def test_every_figure_of_a_shop_is_counted_live_and_test(world: InProcess) -> None:
    [merchant] = world.merchants
    busy_day(world)
    world.run(counted(world))
    last = rows_of(world, merchant.account)[-1]
    assert figures(last) == {
        "taken": 4006,
        "taken_count": 4,
        "refunded": 40,
        "refunded_count": 4,
        "paid_in": 500,
        "paid_in_count": 1,
        "paid_out": 300,
        "paid_out_count": 1,
    }
    assert last.sums.net == world.held(merchant.account)
    with world.books() as books:
        found = books.select(
            "SELECT a.kind, a.mode, count(*) FROM account_total t JOIN account a ON a.number = t.account GROUP BY 1, 2"
        )
    assert sorted((kind, mode) for kind, mode, _ in found) == [("commercial", "live"), ("commercial", "test")]
    assert world.violations() == []


def test_only_the_last_row_grows_and_a_clock_that_goes_back_changes_no_finished_one(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    worker = of(world)
    kept: list[AccountTotal] = []
    for step in (0, 60_000, QUARTER_MS, -2 * QUARTER_MS, 3 * QUARTER_MS):
        world.clock.advance(step)
        world.paid(merchant, customer, amount=100)
        world.run(counted(world, worker))
        rows = rows_of(world, merchant.account)
        assert rows[: len(kept) - 1] == kept[:-1]
        kept = rows
    assert [row.sequence for row in kept] == sorted(row.sequence for row in kept)
    assert kept[-1].taken == 500
    assert world.violations() == []


@pytest.mark.both_engines
def test_nothing_is_counted_twice_whoever_counts_and_how_often(world: InProcess) -> None:
    [merchant], customers = world.merchants, world.customers
    for number in range(5):
        world.clock.advance(QUARTER_MS // 2)
        for customer in customers:
            world.paid(merchant, customer, amount=number + 1)
        world.run(sealed(world))

        async def several() -> None:
            await asyncio.gather(*(of(world).count() for _ in range(3)))

        world.run(several())
    world.run(counted(world))
    last = rows_of(world, merchant.account)[-1]
    assert (last.taken, last.taken_count) == (30, 10)
    assert world.violations() == []


def test_one_that_dies_between_reading_and_committing_has_counted_nothing_and_the_next_counts_all(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.paid(merchant, customer, amount=5)
    world.run(sealed(world))
    engine = world.context.engine

    class Killed(BaseException):
        pass

    async def dies(_command: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(engine, "submit", dies)
        with pytest.raises(Killed):
            world.run(of(world).count())
    assert rows_of(world, merchant.account) == []
    world.run(counted(world))
    assert figures(rows_of(world, merchant.account)[-1]) == {"taken": 5, "taken_count": 1}


@pytest.mark.both_engines
def test_who_was_overtaken_between_reading_and_committing_reads_again(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.paid(merchant, customer, amount=5)
    world.run(sealed(world))
    engine = world.context.engine
    submit = engine.submit
    outcomes: list[Any] = []

    async def overtaken(command: Any) -> Any:  # noqa: ANN401 - any command, and its outcome
        if isinstance(command, RecordTotals) and not outcomes:
            outcomes.append(None)
            other = of(world)
            while await other.count():
                pass
        outcome = await submit(command)
        if isinstance(command, RecordTotals):
            outcomes.append(outcome)
        return outcome

    monkeypatch.setattr(engine, "submit", overtaken)
    world.run(counted(world))
    assert False in outcomes
    last = rows_of(world, merchant.account)[-1]
    assert (last.taken, last.taken_count) == (5, 1)


def test_a_commit_takes_few_transfers_and_the_rest_comes_with_the_next(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totaler_module, "_MOVES_MIN", 2)
    [merchant], [customer, _] = world.merchants, world.customers
    for _ in range(9):
        world.paid(merchant, customer, amount=1)

    world.run(sealed(world))
    worker, steps = of(world), set[int]()
    while world.run(worker.count(at_once=2)):
        steps.update(row.sequence for row in rows_of(world, merchant.account)[-1:])
    assert sorted(steps) == [2, 4, 6, 8, 9]


def test_the_place_among_the_seals_is_kept_and_nothing_is_looked_at_again(world: InProcess) -> None:
    busy_day(world)
    world.run(counted(world))
    with world.books() as books:
        [(last,)] = books.select("SELECT max(number) FROM seal")
    kept = world.run(world.context.store.find(Tables.counters, TOTALLED))
    assert kept is not None
    assert kept.last == last
    assert world.run(counted(world)) <= 2  # The round over all balances.


@pytest.mark.both_engines
def test_what_no_seal_tells_of_is_found_among_the_balances(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.paid(merchant, customer, amount=5)
    world.run(sealed(world))
    with world.books() as books:
        [(last,)] = books.select("SELECT max(number) FROM seal")
    assert world.run(world.context.engine.submit(FollowTotals(0, last)))
    world.run(counted(world))
    assert rows_of(world, merchant.account)[-1].taken == 5


@pytest.mark.both_engines
def test_where_seals_are_many_the_balances_are_looked_at_instead(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totaler_module, "TOTALLED_SEALS_AT_ONCE", 2)
    monkeypatch.setattr(totaler_module, "TOTALLED_SEALS_MAX", 3)
    [merchant], [customer, _] = world.merchants, world.customers
    for _ in range(8):
        world.clock.advance(1000)
        world.paid(merchant, customer, amount=5)
        world.run(sealed(world))
    assert world.run(counted(world)) <= 4
    assert rows_of(world, merchant.account)[-1].taken == 40


# What is wrong is made again, and stops no money.


def spoiled(world: InProcess, account: str, change: str, place: str = "min") -> None:
    """The first or the last row of the shop."""
    own = f"account = {account} AND currency = 'USD'"
    where = f"{own} AND quarter = (SELECT {place}(quarter) FROM account_total WHERE {own})"  # noqa: S608 - ours
    world.database.meddle("account_total", f"UPDATE account_total SET {change} WHERE {where}")  # noqa: S608 - ours


@pytest.mark.parametrize("place", ["min", "max"])
def test_the_auditor_names_a_wrong_total_which_is_made_again_and_stops_no_money(
    world: InProcess, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(forget_module, "TOTAL_ROWS_AT_ONCE", 2)
    [merchant], [customer, _] = world.merchants, world.customers
    busy_day(world)
    world.run(counted(world))
    before = rows_of(world, merchant.account)
    assert len(before) > 1
    spoiled(world, merchant.account, "taken = taken + 5", place)
    assert {violation for violation in world.violations() if "total of account" in violation} != set()
    assert world.act("audit run")["money"] == "moves"
    auditor = LedgerAuditor(world.context.store, world.context.engine)
    world.run(auditor.look())
    told = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert len(told) == 1
    assert told[0].startswith(f"the total of account {merchant.account} in USD for quarter hour ")
    assert len(rows_of(world, merchant.account)) < len(before)
    world.run(counted(world))
    assert rows_of(world, merchant.account) == before
    assert world.violations() == []
    world.paid(merchant, customer, amount=1)


def test_the_worker_builds_on_no_row_that_the_ledger_does_not_agree_with(
    world: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    busy_day(world)
    world.run(counted(world))
    spoiled(world, merchant.account, "taken = taken + 5", "max")
    world.paid(merchant, customer, amount=1)
    world.run(counted(world))
    last = rows_of(world, merchant.account)[-1]
    assert (last.taken, last.taken_count) == (4007, 5)
    assert any("is wrong, and is made again" in record.getMessage() for record in caplog.records)
    assert world.violations() == []


def test_a_reader_is_exact_before_during_and_after_the_counting(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    worker = of(world)

    def taken() -> int:
        [found] = world.run(totals_at(world.context.store, int(merchant.account), "USD", [END_OF_TIME]))
        assert found.sums.net == world.held(merchant.account)
        return found.sums.taken

    assert taken() == 0
    for number in range(1, 6):
        world.clock.advance(QUARTER_MS // 2)
        world.paid(merchant, customer, amount=10)
        assert taken() == 10 * number
        if number % 2:
            world.run(counted(world, worker))
            assert taken() == 10 * number


def test_an_account_that_cannot_be_counted_keeps_nobody_waiting(
    world: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.paid(merchant, customer, amount=5)
    world.data(trial(merchant.test_key, "pay", world.data(create(merchant.test_key, amount=77))["id"]))
    # Behind the guards' back: it has no place among the others.
    world.database.meddle("transfer", f"UPDATE transfer SET credit_sequence = 9 WHERE credit = {merchant.account}")  # noqa: S608 - ours
    worker = of(world)
    world.run(counted(world, worker))
    world.run(counted(world, worker))
    assert rows_of(world, merchant.account) == []
    with world.books() as books:
        assert books.select("SELECT sum(taken) FROM account_total") == [(77,)]
    told = [record.getMessage() for record in caplog.records if "cannot be kept" in record.getMessage()]
    assert told == [f"the totals of account {merchant.account} in USD cannot be kept, until the next start"]


def test_a_served_shop_is_counted_soon(engine: PostgresServer | None) -> None:
    with live(engine, shops=1, people=1, processes=1 if engine is None else 2) as world:
        [merchant], [customer] = world.merchants, world.customers
        for _ in range(3):
            world.paid(merchant, customer, amount=10)

        def is_counted() -> bool:
            with world.books() as books:
                return books.select("SELECT max(taken) FROM account_total") == [(30,)]

        wait_until(is_counted)
        assert not [one for one in world.violations() if one in NAMES]
