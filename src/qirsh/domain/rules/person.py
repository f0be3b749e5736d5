"""People join, change their PIN, sign in and out."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.commands.person import AddPerson, ChangeProfile, Join
from qirsh.domain.counter import ACCOUNT, PERSON
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Login, Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_answer
from qirsh.domain.rules.name_word import write_name
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def add_person_locks(command: AddPerson, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.counters.update({PERSON, ACCOUNT})


def add_person(command: AddPerson, work: UnitOfWork) -> Person | Refused:
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    person = new_person(work, email=command.email, name=command.name, password_hash=command.password_hash)
    work.note(command.actor, "person.added", f"person {person.id}")
    return person


def join_locks(command: Join, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.add(("sign-up", command.email))
    keys.logins.add(command.email)
    keys.counters.update({PERSON, ACCOUNT})


def join(command: Join, work: UnitOfWork) -> Person | Refused:
    refused = check_answer(work, "sign-up", command.email, token_hash=command.token_hash, code_macs=command.code_macs)
    if refused:
        return refused
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    work.challenges.remove(("sign-up", command.email))
    person = new_person(
        work,
        email=command.email,
        name=command.name,
        password_hash=command.password_hash,
        phone=command.phone,
        language=command.language,
    )
    work.note(f"person {person.id}", "person.joined", f"person {person.id}")
    return person


def change_profile_locks(command: ChangeProfile, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)


def change_profile(command: ChangeProfile, work: UnitOfWork) -> Person | Refused:
    person = work.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    changed: Person = msgspec.structs.replace(
        person,
        phone=person.phone if command.phone is None else command.phone,
        language=command.language,
        has_notices=person.has_notices if command.has_notices is None else command.has_notices,
    )
    work.people.change(person.id, changed)
    return changed


def new_person(
    work: UnitOfWork, *, email: str, name: str, password_hash: str, phone: str = "", language: str = "en"
) -> Person:
    """A new person, with a personal account and a way to sign in. Their address must be free."""
    number = work.identifiers.account_number(work.count(ACCOUNT))
    person = Person(
        id=work.count(PERSON), name=name, account=number, created_at=work.now, phone=phone, language=language
    )
    account = Account(
        number=number,
        kind="personal",
        mode="live",
        owner=person.id,
        live_account=None,
        name=name,
        state="unverified",
        return_origins="",
        created_at=work.now,
        updated_at=work.now,
    )
    work.accounts.add(number, account)
    write_name(work, None, account)
    work.people.add(person.id, person)
    work.identities.absent(person.id)
    work.logins.add(
        email, Login(email=email, person=person.id, password_hash=password_hash, totp_sealed=None, created_at=work.now)
    )
    return person


RULES: Final[Rules] = {
    AddPerson: by_operator(Rule(add_person, lock=add_person_locks), OperatorRight.DECIDE),
    Join: Rule(join, lock=join_locks),
    ChangeProfile: Rule(change_profile, lock=change_profile_locks),
}
