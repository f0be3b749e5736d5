"""Operators write notes, which nobody changes; those about a person go with what is known of them."""

from collections.abc import Iterable
from typing import Final

import msgspec

from qirsh.domain.commands.note import AddNote, ForgetNotes
from qirsh.domain.note import Note, note_subject
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.operator_authority import by_operator, is_party, lock_party
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def add_reads(command: AddNote, keys: RowKeys) -> None:
    if command.about == "payment":
        keys.payments.add(command.number)  # For who asked for it, which never changes: the payment itself may.


def add_locks(command: AddNote, work: UnitOfWork, keys: RowKeys) -> None:
    keys.notes.add(command.id)
    if command.about == "person":
        keys.people.add(command.number)  # Nobody erases them meanwhile.
        return
    account = _account(command, work)
    if account is not None:
        lock_party(account, command.operator, keys)


def add(command: AddNote, work: UnitOfWork) -> Note | Refused:
    assert command.text_sealed
    if why := _why_not(command, work):
        return Refused(why)
    subject = note_subject(command.about, command.number)
    before = work.notes.get(command.id)
    if before is not None:  # The same form again.
        is_same = (before.subject, before.person) == (subject, command.operator)
        return before if is_same else Refused(Refusal.NOT_FOUND)
    note = Note(command.id, subject, command.operator, command.text_sealed, work.now)
    work.notes.add(note.id, note)
    work.note(command.actor, "note.added", subject, note.id)
    return note


def _why_not(command: AddNote, work: UnitOfWork) -> Refusal | None:
    if command.about == "person":
        person = work.people.get(command.number)
        if person is None or person.erased_at is not None:
            return Refusal.NOT_FOUND
        return Refusal.OWN_REQUEST if person.id == command.operator else None
    number = _account(command, work)
    account = None if number is None else work.accounts.get(number)
    if account is None:
        return Refusal.NOT_FOUND
    # Those of a person are about the person, and those of a test account about its business.
    if command.about == "account" and (account.kind != "commercial" or account.mode != "live"):
        return Refusal.NOT_FOUND
    return Refusal.OWN_REQUEST if is_party(work, account, command.operator) else None


def _account(command: AddNote, work: UnitOfWork) -> int | None:
    """The business that it is about, or whose payment it is about."""
    if command.about == "account":
        return command.number
    payment = work.payments.get(command.number)
    return None if payment is None else payment.merchant


def forget_locks(command: ForgetNotes, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.notes.update(command.notes)


def forget(command: ForgetNotes, work: UnitOfWork) -> int | Refused:
    person = work.people.get(command.person)
    if person is None or person.erased_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    count = empty_notes(work, person.id, command.notes)
    if count:
        work.note("service", "notes.forgotten", f"person {person.id}")
    return count


def empty_notes(work: UnitOfWork, person: int, notes: Iterable[str]) -> int:
    """Those of these that are about the person lose what was written; how many they were."""
    found = (work.notes.get(name) for name in sorted(set(notes)))
    about = [note for note in found if note is not None and note.subject == note_subject("person", person)]
    written = [note for note in about if note.text_sealed]
    for note in written:
        work.notes.change(note.id, msgspec.structs.replace(note, text_sealed=b""))
    return len(written)


RULES: Final[Rules] = {
    AddNote: by_operator(Rule(add, lock=add_locks, read_first=add_reads), OperatorRight.WRITE_TO_SHOPS),
    ForgetNotes: Rule(forget, lock=forget_locks),
}
