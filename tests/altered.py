"""Accounts that are not as they were, by no rule: what no command does yet, or what happens to others."""

from typing import Any

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.batch import Batch
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from tests.live import InProcess


class Altered(Batch):
    """In the place of a batch of commands."""

    def __init__(self, number: int, changes: dict[str, Any]) -> None:
        super().__init__([])
        self._number = number
        self._changes = changes

    def __len__(self) -> int:
        return 1

    def keys_to_read(self) -> RowKeys:
        return RowKeys()

    def keys_to_lock(self, _work: UnitOfWork) -> RowKeys:
        keys = RowKeys()
        keys.accounts.add(self._number)
        return keys

    def decide(self, work: UnitOfWork) -> None:
        account = work.accounts.get(self._number)
        assert account is not None
        changed: Account = msgspec.structs.replace(account, **self._changes)
        work.accounts.change(self._number, changed)
        work.attest()


def alter(world: InProcess, account: str, **changes: object) -> None:
    """Whatever is written there."""
    world.run(world.context.store.transact(Altered(int(account), changes)))
