"""What the ledger auditor saw is written down for operators: rule by rule, with the sums of all balances."""

import asyncio

import pytest

from qirsh.domain.ledger_check import Looked
from qirsh.store.integrity import audited, incremental_checks
from qirsh.store.reads.ledger import kept_checks, kept_sums
from qirsh.workers.check_book import CheckBook
from qirsh.workers.ledger_auditor import LedgerAuditor
from tests.live import FUNDS, InProcess, in_process, pay
from tests.postgres import PostgresServer

SUMS = incremental_checks.SUMS.name


@pytest.fixture
def book() -> CheckBook:
    return CheckBook()


def test_a_rule_held_at_the_end_of_a_round_in_which_nothing_was_wrong(book: CheckBook) -> None:
    book.saw("a", (), is_last=False)
    assert book.seen() == (Looked("a"),)
    book.saw("a", (), is_last=True)
    assert book.seen() == (Looked("a", is_whole=True),)
    book.saw("a", (), is_last=False)  # The next round begins before it was written down.
    assert book.seen() == (Looked("a", is_whole=True),)


def test_a_finding_is_news_once_and_the_round_does_not_count(book: CheckBook) -> None:
    book.saw("a", ["wrong", "and more"], is_last=False)
    assert book.is_news
    book.saw("a", (), is_last=True)
    assert book.seen() == (Looked("a", is_whole=False, finding="wrong"),)
    book.written(book.seen())
    assert (book.seen(), book.is_news) == ((), False)
    book.saw("a", ["wrong"], is_last=False)
    assert not book.is_news
    book.saw("a", ["another"], is_last=True)
    assert book.is_news
    book.written(book.seen())
    book.saw("a", (), is_last=True)
    assert book.seen() == (Looked("a", is_whole=True),)
    book.written(book.seen())
    book.saw("a", ["wrong"], is_last=True)
    assert book.is_news  # After it was right, it is news again.


def test_a_round_with_rows_that_were_left_out_does_not_count(book: CheckBook) -> None:
    book.left_out(["a"])
    book.saw("a", (), is_last=True)
    assert book.seen() == (Looked("a"),)
    book.saw("a", (), is_last=True)
    assert book.seen() == (Looked("a", is_whole=True),)


def test_what_is_seen_while_it_is_written_down_is_not_lost(book: CheckBook) -> None:
    book.saw("a", (), is_last=True)
    seen = book.seen()
    book.saw("a", ["wrong"], is_last=True)
    book.written(seen)
    assert book.seen() == (Looked("a", finding="wrong"),)


def looks(world: InProcess, auditor: LedgerAuditor, count: int) -> None:
    async def look() -> None:
        for _ in range(count):
            await auditor.look()

    world.run(look())


def auditor_of(world: InProcess) -> LedgerAuditor:
    return LedgerAuditor(world.context.store, world.context.engine)


def written(world: InProcess, auditor: LedgerAuditor) -> None:
    """A minute later."""
    world.run(auditor.write_down())


def test_every_rule_of_good_books_has_held_within_two_rounds(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=2) as world:
        assert world.send(pay(world.customers[0], world.payment(world.merchants[0]))).status_code == 200
        auditor = auditor_of(world)
        looks(world, auditor, 3)
        for _ in range(3):  # A part of the chain each minute.
            assert world.run(auditor.past()) == []
        written(world, auditor)
        kept = world.run(kept_checks(world.context.store))
        assert set(kept) == {*audited.OF_MONEY, *audited.TOLD}
        assert {check.finding for check in kept.values()} == {""}
        assert {name for name in audited.OF_MONEY if kept[name].held_at is None} == set()
        assert [kept[name].held_at for name in audited.TOLD] == [world.now_ms()] * len(audited.TOLD)


@pytest.mark.both_engines
def test_sums_by_kind_are_of_all_balances_and_come_to_zero(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=2) as world:
        payment = world.payment(world.merchants[0])
        assert world.send(pay(world.customers[0], payment)).status_code == 200
        looks(world, auditor_of(world), 1)
        sums = {(one.mode, one.kind, one.currency): one for one in world.run(kept_sums(world.context.store))}
        live = {kind: sums["live", kind, "USD"].amount for kind in ("personal", "commercial", "house")}
        count = sums["live", "personal", "USD"].balances
        assert count >= 2
        assert live == {"personal": count * FUNDS - 100, "commercial": 100, "house": -count * FUNDS}
        assert {one.at for one in sums.values()} == {world.now_ms()}


def test_a_balance_broken_by_hand_stands_there_after_one_cycle_and_until_all_is_right(
    engine: PostgresServer | None,
) -> None:
    with in_process(engine, shops=1, people=2) as world:
        auditor = auditor_of(world)
        looks(world, auditor, 3)
        written(world, auditor)
        held_at = world.now_ms()
        world.clock.advance(60_000)
        account = world.customers[0].account
        broken = f"UPDATE balance SET amount = amount {{}} WHERE account = {account} AND currency = 'USD'"  # noqa: S608 - ours
        world.database.meddle("balance", broken.format("+ 5"))
        looks(world, auditor, 1)
        check = world.run(kept_checks(world.context.store))[SUMS]
        assert (check.looked_at, check.held_at) == (world.now_ms(), held_at)
        assert check.finding == "balances in USD sum to 5, not to zero"
        sums = world.run(kept_sums(world.context.store))
        assert sum(one.amount for one in sums if (one.mode, one.currency) == ("live", "USD")) == 5
        world.database.meddle("balance", broken.format("- 5"))
        looks(world, auditor, 1)
        written(world, auditor)
        check = world.run(kept_checks(world.context.store))[SUMS]
        assert (check.held_at, check.finding) == (world.now_ms(), "")


def test_a_coin_that_went_from_one_to_another_is_told_of_until_a_whole_round_was_right(
    engine: PostgresServer | None,
) -> None:
    with in_process(engine, shops=1, people=2) as world:
        one, two = (customer.account for customer in world.customers[:2])
        auditor = auditor_of(world)
        looks(world, auditor, 3)
        move = (
            f"UPDATE balance SET amount = amount + CASE account WHEN {one} THEN {{0}}1 ELSE -({{0}}1) END"  # noqa: S608 - ours
            f" WHERE account IN ({one}, {two}) AND currency = 'USD'"
        )
        world.database.meddle("balance", move.format(""))
        looks(world, auditor, 2)
        kept = world.run(kept_checks(world.context.store))
        [found] = [check for check in kept.values() if check.finding]
        assert found.finding.startswith("balance of account ")
        world.database.meddle("balance", move.format("-"))
        looks(world, auditor, 4)
        written(world, auditor)
        kept = world.run(kept_checks(world.context.store))
        assert [check for check in kept.values() if check.finding] == []


def test_two_processes_that_look_at_once_write_one_row_for_each_rule(postgres: PostgresServer) -> None:
    with in_process(postgres, shops=0, people=1) as world:
        auditors = [auditor_of(world), auditor_of(world)]

        async def both() -> None:
            await asyncio.gather(*(auditor.look() for auditor in auditors))

        world.run(both())
        assert len(world.run(kept_checks(world.context.store))) == len({*audited.OF_MONEY, *audited.TOLD})
