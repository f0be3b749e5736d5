"""Tries to pay that failed are written down and forgotten."""

from typing import Final

from qirsh.domain.commands.payment_attempt import ForgetAttempts, RecordAttempts
from qirsh.domain.limits import ATTEMPTS_AT_ONCE, ATTEMPTS_FORGOTTEN_AT_ONCE
from qirsh.domain.payment_attempt import PLACES, PaymentAttempt
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def record_attempts_locks(command: RecordAttempts, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.payment_attempts.update((failed.payment, place) for failed in command.attempts for place in PLACES)


def record_attempts(command: RecordAttempts, work: UnitOfWork) -> int:
    assert len(command.attempts) <= ATTEMPTS_AT_ONCE
    count = 0
    for failed in command.attempts:
        kept = {place: work.payment_attempts.get((failed.payment, place)) for place in PLACES}
        free = next((place for place, attempt in kept.items() if attempt is None), None)
        # Told again by who did not hear that it was written down.
        is_known = any(attempt is not None and attempt.id == failed.id for attempt in kept.values())
        if free is not None and not is_known:
            attempt = PaymentAttempt(failed.payment, free, failed.id, failed.at, failed.reason)
            work.payment_attempts.add((failed.payment, free), attempt)
            count += 1
    return count


def forget_attempts_locks(command: ForgetAttempts, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.payment_attempts.update(command.keys)


def forget_attempts(command: ForgetAttempts, work: UnitOfWork) -> int:
    assert len(command.keys) <= ATTEMPTS_FORGOTTEN_AT_ONCE
    found = [key for key in command.keys if work.payment_attempts.get(key) is not None]
    for key in found:
        work.payment_attempts.remove(key)
    return len(found)


RULES: Final[Rules] = {
    RecordAttempts: Rule(record_attempts, lock=record_attempts_locks),
    ForgetAttempts: Rule(forget_attempts, lock=forget_attempts_locks),
}
