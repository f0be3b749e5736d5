"""Letters leave, wait, or are written for what the seals cover."""

import msgspec

from qirsh.domain.counter import NOTIFIED, Counter
from qirsh.domain.people_command import MailFailed, MailSent, Notify
from qirsh.domain.state import Needs, State


def sent_needs(command: MailSent, _state: State, needs: Needs) -> None:
    needs.mails.add(command.id)


def sent(command: MailSent, state: State) -> None:
    state.mails.remove(command.id)


def failed_needs(command: MailFailed, _state: State, needs: Needs) -> None:
    needs.mails.add(command.id)


def failed(command: MailFailed, state: State) -> None:
    mail = state.mails.get(command.id)
    if mail is not None:
        again = msgspec.structs.replace(mail, due_at=command.due_at, attempts=mail.attempts + 1)
        state.mails.change(mail.id, again)


def notify_needs(_command: Notify, _state: State, needs: Needs) -> None:
    needs.counters.add(NOTIFIED)


def notify(command: Notify, state: State) -> bool:
    counter = state.counters.get(NOTIFIED)
    if (counter.last if counter else 0) != command.after:
        return False
    state.counters.put(NOTIFIED, Counter(NOTIFIED, command.until))
    state.post(command.letters)
    return True
