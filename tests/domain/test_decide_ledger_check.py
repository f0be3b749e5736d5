"""What the ledger auditor saw is kept rule by rule: a finding stays until the rule holds of all its rows again."""

import pytest

from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.ledger_check import SUM_KEYS, LedgerCheck, LedgerSum, Looked
from tests.domain.world import START, World

RULE = "a rule"


@pytest.fixture
def world() -> World:
    return World()


def look(world: World, *, is_whole: bool = False, finding: str = "") -> LedgerCheck:
    world.now += 10
    world.do(RecordLedgerChecks((Looked(RULE, is_whole=is_whole, finding=finding),)))
    return world.ledger_checks[RULE]


def test_a_rule_held_when_all_its_rows_were_looked_at_and_not_before(world: World) -> None:
    assert look(world) == LedgerCheck(RULE, START + 10, None, "")
    assert look(world, is_whole=True) == LedgerCheck(RULE, START + 20, START + 20, "")
    assert look(world) == LedgerCheck(RULE, START + 30, START + 20, "")


def test_a_finding_stays_while_other_rows_are_looked_at_and_goes_when_all_of_them_are_right(world: World) -> None:
    look(world, is_whole=True)
    assert look(world, finding="one is wrong") == LedgerCheck(RULE, START + 20, START + 10, "one is wrong")
    assert look(world) == LedgerCheck(RULE, START + 30, START + 10, "one is wrong")
    assert look(world, finding="another is") == LedgerCheck(RULE, START + 40, START + 10, "another is")
    assert look(world, is_whole=True) == LedgerCheck(RULE, START + 50, START + 50, "")


def test_a_round_in_which_something_was_wrong_does_not_count_as_whole(world: World) -> None:
    assert look(world, is_whole=True, finding="the last one").held_at is None


def test_a_clock_that_was_set_back_takes_no_time_back(world: World) -> None:
    look(world, is_whole=True)
    world.now -= 1000
    assert look(world) == LedgerCheck(RULE, START + 10, START + 10, "")
    world.now += 2000
    assert look(world, is_whole=True).held_at == START + 1030


def test_sums_are_of_the_moment_of_their_commit_and_take_the_place_of_those_before(world: World) -> None:
    assert len(SUM_KEYS) == 2 * 3 * 4
    for amount in (5, 7):
        world.now += 10
        sums = tuple(LedgerSum(*key, amount, 1, 2, 0) for key in SUM_KEYS)
        world.do(RecordLedgerChecks((), sums))
    assert set(world.ledger_sums) == set(SUM_KEYS)
    assert world.ledger_sums["live", "house", "USD"] == LedgerSum("live", "house", "USD", 7, 1, 2, START + 20)
    assert world.ledger_checks == {}
