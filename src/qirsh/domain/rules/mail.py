"""Letters leave, wait, or are written for what the seals cover."""

from typing import Final

import msgspec

from qirsh.domain.commands.mail import MailFailed, MailSent, Notify
from qirsh.domain.counter import NOTIFIED, Counter
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def sent_locks(command: MailSent, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.mails.add(command.id)


def sent(command: MailSent, work: UnitOfWork) -> None:
    work.mails.remove(command.id)


def failed_locks(command: MailFailed, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.mails.add(command.id)


def failed(command: MailFailed, work: UnitOfWork) -> None:
    mail = work.mails.get(command.id)
    if mail is not None:
        again = msgspec.structs.replace(mail, due_at=command.due_at, attempts=mail.attempts + 1)
        work.mails.change(mail.id, again)


def notify_locks(_command: Notify, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(NOTIFIED)


def notify(command: Notify, work: UnitOfWork) -> bool:
    counter = work.counters.get(NOTIFIED)
    if (counter.last if counter else 0) != command.after:
        return False
    work.counters.put(NOTIFIED, Counter(NOTIFIED, command.until))
    work.post(command.letters)
    return True


RULES: Final[Rules] = {
    MailSent: Rule(sent, lock=sent_locks),
    MailFailed: Rule(failed, lock=failed_locks),
    Notify: Rule(notify, lock=notify_locks),
}
