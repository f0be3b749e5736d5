"""The rows of a batch: what is loaded, added and changed."""

import pytest

from qirsh.domain.commands.login_credentials import AddPasskey, ChangePin, RemovePasskey
from qirsh.domain.credential_log import CredentialEntry, digest
from qirsh.domain.table import RowSet
from qirsh.domain.tables import LOCK_ORDER
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from tests.domain.market import Market
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


# The credential log.


def test_a_row_that_lets_somebody_in_has_an_entry_when_it_comes_changes_and_goes() -> None:
    market = Market()
    person, before = market.customer.id, len(market.credentials)
    market.do(ChangePin(person, b"another", "test", old_macs=(market.pins[person].mac,)))
    market.do(AddPasskey(b"\x07", person, b"public", 0, "phone", ()))
    market.do(RemovePasskey(b"\x07", person, ()))
    assert market.credentials[before:] == [
        CredentialEntry(market.now, "pin", str(person), digest("pin", str(person), (b"another",))),
        CredentialEntry(market.now, "passkey", "07", digest("passkey", "07", (person, b"public"))),
        CredentialEntry(market.now, "passkey", "07", None),
    ]


def test_what_was_changed_and_changed_back_in_one_commit_has_no_entry() -> None:
    market = Market()
    before, mac = list(market.credentials), market.pins[market.customer.id].mac
    market.together(ChangePin(market.customer.id, b"another", "test"), ChangePin(market.customer.id, mac, "test"))
    assert market.credentials == before


def test_nothing_on_the_way_of_a_payment_has_an_entry() -> None:
    market = Market()
    before = list(market.credentials)
    payment = market.create()
    market.refuse(market.pay(payment, pin_macs=(b"wrong",)))
    assert market.pins[market.customer.id].failures == 1
    market.do(market.pay(payment))
    assert market.pins[market.customer.id].failures == 0
    assert market.credentials == before
