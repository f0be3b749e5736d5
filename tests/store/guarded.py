"""Tables of statements that a database must refuse: each is typed into the same state, and all of it is taken back."""

from collections.abc import Mapping

import pytest

from tests.store.filled import Denied, Hand


def refuses_each(subtests: pytest.Subtests, hand: Hand, statements: Mapping[str, tuple[str, str]]) -> None:
    """What is typed, and what the database says."""
    before = hand.rows()
    for name, (sql, why) in statements.items():
        with subtests.test(name), hand.tentative(), pytest.raises(Denied, match=why):
            hand.type(sql)
    assert hand.rows() == before


def accepts_each_without_guards(
    subtests: pytest.Subtests, hand: Hand, statements: Mapping[str, tuple[str, str]]
) -> None:
    """So it is a guard that refuses it, and not a slip in the statement."""
    hand.disarm()
    before = hand.rows()
    for name, (sql, _) in statements.items():
        with subtests.test(name), hand.tentative():
            hand.type(sql)
            assert hand.rows() != before
