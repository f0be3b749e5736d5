"""The rows of a batch: what is loaded, added and changed."""

import pytest

from qirsh.domain.table import RowSet
from qirsh.domain.tables import LOCK_ORDER
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from tests.domain.world import World


def test_a_row_that_nobody_loaded_is_a_fault_and_not_an_absence() -> None:
    with pytest.raises(KeyError):
        RowSet[str, int]().get("unknown")


def test_a_row_that_is_put_must_have_been_looked_for() -> None:
    with pytest.raises(KeyError):
        RowSet[str, int]().put("unknown", 1)


def test_a_row_that_was_added_and_changed_is_written_once() -> None:
    rows = RowSet[str, int]()
    rows.known["a"] = None
    rows.put("a", 1)
    rows.put("a", 2)
    assert (rows.get("a"), rows.added, rows.changed) == (2, {"a": 2}, {})


def test_a_row_that_was_there_is_changed_and_not_added() -> None:
    rows = RowSet[str, int]()
    rows.known["a"] = 1
    rows.put("a", 2)
    assert (rows.get("a"), rows.added, rows.changed) == (2, {}, {"a": 2})


def test_a_row_is_not_added_over_another() -> None:
    rows = RowSet[str, int]()
    rows.add("a", 1)
    with pytest.raises(AssertionError):
        rows.add("a", 2)


def test_every_kind_of_row_that_can_be_needed_has_its_place() -> None:
    world = World()
    work = UnitOfWork(now=0, epoch=0, identifiers=world.identifiers, payment_numbers=iter(()))
    for table in LOCK_ORDER:
        assert getattr(RowKeys(), table.attribute) == set()
        assert isinstance(getattr(work, table.attribute), RowSet)
        assert getattr(work, table.attribute) is getattr(work, table.attribute)
        assert isinstance(getattr(world, table.attribute), dict)
