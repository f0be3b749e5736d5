"""Accounts that are not as they were, by no rule: what no command does yet, or what happens to others."""

from typing import Any

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.state import Needs, State
from tests.live import InProcess


class Altered:
    """In the place of a batch of commands."""

    def __init__(self, number: int, changes: dict[str, Any]) -> None:
        self._number = number
        self._changes = changes

    def __len__(self) -> int:
        return 1

    def facts(self) -> Needs:
        return Needs()

    def rows(self, _state: State) -> Needs:
        needs = Needs()
        needs.accounts.add(self._number)
        return needs

    def decide(self, state: State) -> None:
        account = state.accounts.get(self._number)
        assert account is not None
        changed: Account = msgspec.structs.replace(account, **self._changes)
        state.accounts.change(self._number, changed)


def alter(world: InProcess, account: str, **changes: object) -> None:
    """Whatever is written there."""
    world.run(world.parts.store.transact(Altered(int(account), changes)))
