"""Totals grow at their end. Of two processes that counted the same transfers, one finds the other's row."""

from typing import Final

from qirsh.domain.commands.total import FollowTotals, ForgetTotals, RecordTotals
from qirsh.domain.counter import TOTALLED, Counter
from qirsh.domain.limits import TOTAL_ROWS_AT_ONCE
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.total import key_of
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def record_locks(command: RecordTotals, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.account_totals.update(map(key_of, command.rows))
    if command.before is not None:
        keys.account_totals.add(key_of(command.before))


def record(command: RecordTotals, work: UnitOfWork) -> bool:
    before = command.before
    if before is not None and work.account_totals.get(key_of(before)) != before:
        return False
    for row in command.rows:
        is_grown = before is not None and key_of(row) == key_of(before)
        if not is_grown and work.account_totals.get(key_of(row)) is not None:
            return False
    for row in command.rows:
        work.account_totals.put(key_of(row), row)
    return True


def forget_locks(command: ForgetTotals, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.account_totals.update((command.account, command.currency, quarter) for quarter in command.quarters)


def forget(command: ForgetTotals, work: UnitOfWork) -> int:
    assert len(command.quarters) <= TOTAL_ROWS_AT_ONCE
    forgotten = 0
    for quarter in command.quarters:
        key = (command.account, command.currency, quarter)
        forgotten += work.account_totals.get(key) is not None
        work.account_totals.remove(key)
    return forgotten


def follow_locks(_command: FollowTotals, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(TOTALLED)


def follow(command: FollowTotals, work: UnitOfWork) -> bool:
    if work.counted(TOTALLED) != command.after:
        return False
    work.counters.put(TOTALLED, Counter(TOTALLED, command.until))
    return True


RULES: Final[Rules] = {
    RecordTotals: Rule(record, lock=record_locks),
    ForgetTotals: Rule(forget, lock=forget_locks),
    FollowTotals: Rule(follow, lock=follow_locks),
}
