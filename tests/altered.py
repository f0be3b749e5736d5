"""Accounts that are not as they were, by no rule: what no command does yet, or what happens to others."""

from typing import Any

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.batch import Batch
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from tests.live import InProcess


class Altered(Batch):
    """In the place of a batch of commands."""

    def __init__(self, number: int, owner: int, changes: dict[str, Any]) -> None:
        super().__init__([])
        self._number = number
        self._owner = owner
        self._changes = changes

    def __len__(self) -> int:
        return 1

    def keys_to_read(self) -> RowKeys:
        return self.keys_to_lock(None)

    def keys_to_lock(self, _work: UnitOfWork | None) -> RowKeys:
        keys = RowKeys()
        keys.accounts.add(self._number)
        keys.people.add(self._owner)
        return keys

    def decide(self, work: UnitOfWork) -> None:
        account, person = work.accounts.get(self._number), work.people.get(self._owner)
        assert account is not None
        assert person is not None
        changed: Account = msgspec.structs.replace(account, updated_at=work.now, **self._changes)
        # The database takes a closed account from who erases themselves, or from two operators.
        if changed.state == "closed" != account.state:
            work.people.change(person.id, msgspec.structs.replace(person, erased_at=work.now))
        work.accounts.change(self._number, changed)
        work.attest()


def alter(world: InProcess, account: str, **changes: object) -> None:
    """Whatever is written there."""
    found = world.run(world.context.store.find(Tables.accounts, int(account)))
    assert found is not None
    assert found.owner is not None
    world.run(world.context.store.transact(Altered(int(account), found.owner, changes)))
