"""What hands break of bank orders and payouts, the auditor finds in the part of the rows that it looks at."""

import re
from typing import Any, Final

import pytest

from qirsh.store.integrity.incremental_checks import BANK_ORDERS, PAYOUTS
from qirsh.store.integrity.invariant import Invariant, violations_of
from qirsh.store.integrity.invariants import ALL
from tests.store.filled import FILLED, Hand
from tests.store.integrity.operator_breaks import BROKEN_OPERATORS

CHECKS: Final = {check.name: check for check in (*BANK_ORDERS, *PAYOUTS)}
FOUND: Final = [broken for broken in BROKEN_OPERATORS if broken[0] in CHECKS]
SENTENCES: Final = {invariant.name: invariant.sentence for invariant in ALL}


def found(hand: Hand, check: Invariant, after: str, until: str) -> list[str]:
    """Of the rows whose keys lie between these."""

    def select(sql: str) -> list[Any]:
        return hand.type(sql.replace("$1", f"'{after}'").replace("$2", f"'{until}'"))

    return [violation.sentence for violation in violations_of(check, select)]


def test_each_broken_row_is_found_in_its_part_alone(subtests: pytest.Subtests, any_hand: Hand) -> None:
    any_hand.disarm()
    for name, sql, named in FOUND:
        check = CHECKS[name]
        with subtests.test(f"{name}: {sql}"), any_hand.tentative():
            any_hand.type(sql)
            sentences = found(any_hand, check, "", "zzzz")
            assert sentences
            if check.sentence == SENTENCES[name]:
                assert any(re.fullmatch(named.format(**FILLED.names()), sentence) for sentence in sentences), sentences
            assert found(any_hand, check, "zzzz", "zzzzz") == []


def test_a_good_database_is_found_good(any_hand: Hand) -> None:
    assert {name: found(any_hand, check, "", "zzzz") for name, check in CHECKS.items()} == {name: [] for name in CHECKS}


def test_each_check_of_bank_orders_and_payouts_finds_something() -> None:
    assert {name for name, _, _ in FOUND} == set(CHECKS)
