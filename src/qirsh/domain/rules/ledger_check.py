"""What is kept of a look: a finding stays until the rule holds of all its rows again."""

from typing import Final

import msgspec

from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.ledger_check import LedgerCheck, LedgerSum, Looked, SumKey
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def record_locks(command: RecordLedgerChecks, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.ledger_checks.update(looked.name for looked in command.checks)
    keys.ledger_sums.update(map(sum_key, command.sums))


def record(command: RecordLedgerChecks, work: UnitOfWork) -> None:
    for looked in command.checks:
        work.ledger_checks.put(looked.name, _kept(looked, work.ledger_checks.get(looked.name), work.now))
    for one in command.sums:
        made: LedgerSum = msgspec.structs.replace(one, at=work.now)
        work.ledger_sums.put(sum_key(one), made)


def sum_key(one: LedgerSum) -> SumKey:
    return one.mode, one.kind, one.currency


def _kept(looked: Looked, before: LedgerCheck | None, now: int) -> LedgerCheck:
    held_at, finding = (None, "") if before is None else (before.held_at, before.finding)
    at = now if before is None else max(now, before.looked_at)  # A clock may have been set back.
    if looked.finding:
        finding = looked.finding
    elif looked.is_whole:
        held_at, finding = at, ""
    return LedgerCheck(looked.name, at, held_at, finding)


RULES: Final[Rules] = {
    RecordLedgerChecks: Rule(record, lock=record_locks),
}
