"""The chain grows by one link at its end. Two who seal at once cannot both: one finds the other's link in its place."""

from typing import Final

from qirsh.domain import seal
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.seal import Seal
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def seal_locks(command: SealEntries, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.seals.update({command.number - 1, command.number})


def seal_entries(command: SealEntries, work: UnitOfWork) -> Seal | None:
    before = work.seals.get(command.number - 1)
    is_next = command.number == 1 if before is None else command.number > 1
    if not is_next or work.seals.get(command.number) is not None:
        return None
    if command.previous != (seal.NOTHING if before is None else before.hash):
        return None
    made = seal.make(number=command.number, at=work.now, previous=command.previous, covers=command.covers)
    work.seals.add(made.number, made)
    return made


RULES: Final[Rules] = {
    SealEntries: Rule(seal_entries, lock=seal_locks),
}
