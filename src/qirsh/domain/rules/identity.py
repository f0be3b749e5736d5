"""Who a person is: they say and show it, an operator decides, and the pictures are forgotten."""

import msgspec

from qirsh.domain import counter
from qirsh.domain.account import Account
from qirsh.domain.identity import SIDES, Identity, IdentityImage
from qirsh.domain.money import CURRENCIES
from qirsh.domain.people_command import ErasePerson, ForgetImages, RejectIdentity, SubmitIdentity
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.money import holds_money
from qirsh.domain.rules.secret import end_sessions
from qirsh.domain.state import Needs, State

_OVER = frozenset({"rejected", "closed"})


def submit_needs(command: SubmitIdentity, _state: State, needs: Needs) -> None:
    needs.accounts.add(command.account)
    needs.identities.add(command.person)
    needs.identity_images |= {(command.person, side) for side in SIDES}


def submit(command: SubmitIdentity, state: State) -> Identity | Refused:
    account = state.accounts.get(command.account)
    if account is None or account.kind != "personal" or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    before = state.identities.get(command.person)
    if account.state != "unverified" or (before is not None and before.state != "rejected"):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    submitted = Identity(command.person, "submitted", command.facts_sealed, "", state.now, None, None)
    state.identities.put(command.person, submitted)
    _forget_images(state, command.person)
    for side, sealed in command.images:
        state.identity_images.add((command.person, side), IdentityImage(command.person, side, sealed))
    state.note(f"person {command.person}", "identity.submitted", f"account {command.account}")
    return submitted


def reject_facts(command: RejectIdentity, needs: Needs) -> None:
    needs.accounts.add(command.account)


def reject_needs(command: RejectIdentity, state: State, needs: Needs) -> None:
    need_identity(state, command.account, needs)


def reject(command: RejectIdentity, state: State) -> Identity | Refused:
    account = state.accounts.get(command.account)
    if account is None or account.kind != "personal" or account.owner is None:
        return Refused(Refusal.NOT_FOUND)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    rejected = _decide(state, account.owner, "rejected", operator=command.operator, reason=command.reason)
    if rejected is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    state.post(command.letters)
    state.note(command.actor, "identity.rejected", f"account {account.number}", command.reason)
    return rejected


def need_identity(state: State, account: int, needs: Needs) -> None:
    """Whoever decides on a personal account decides on what its owner has shown."""
    row = state.accounts.get(account)
    if row is not None and row.kind == "personal" and row.owner is not None:
        needs.identities.add(row.owner)


def accept(state: State, person: int, *, operator: int) -> None:
    """What a person has shown was enough; nothing if an operator knew them without it."""
    _decide(state, person, "verified", operator=operator, reason="")


def forget_needs(command: ForgetImages, _state: State, needs: Needs) -> None:
    needs.identities.add(command.person)
    needs.identity_images |= {(command.person, side) for side in SIDES}


def forget(command: ForgetImages, state: State) -> int | Refused:
    identity = state.identities.get(command.person)
    if identity is None or identity.state == "submitted":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    count = _forget_images(state, command.person)
    if count:
        state.note("service", "identity.forgotten", f"person {command.person}")
    return count


def erase_needs(command: ErasePerson, _state: State, needs: Needs) -> None:
    needs.people.add(command.person)
    needs.pins.add(command.person)
    needs.balances |= {(command.account, currency) for currency in CURRENCIES}
    needs.counters |= {counter.REVOCATION, counter.passkeys(command.person), counter.businesses(command.account)}
    needs.counters |= {counter.open_payouts(account) for account in (command.account, *command.businesses)}
    needs.accounts |= {command.account, *command.businesses}
    needs.logins.add(command.email)
    needs.operators.add(command.person)
    needs.passkeys |= set(command.passkeys)
    needs.challenges |= set(command.challenges)
    needs.identities.add(command.person)
    needs.identity_images |= {(command.person, side) for side in SIDES}


def erase(command: ErasePerson, state: State) -> Person | Refused:
    person, login = state.people.get(command.person), state.logins.get(command.email)
    if person is None or person.account != command.account or login is None or login.person != person.id:
        return Refused(Refusal.NOT_FOUND)
    operator = state.operators.get(person.id)
    if operator is not None and operator.ended_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    passkeys, businesses = _own_passkeys(command, state), _own_businesses(command, state)
    if len(passkeys) != state.counted(counter.passkeys(person.id)):
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One more was made since they were looked for.
    if len(businesses) != state.counted(counter.businesses(person.account)):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if _has_left_something(command, businesses, state):
        return Refused(Refusal.MONEY_LEFT)
    end_sessions(state, person.id)
    person = state.people.get(person.id)
    assert person is not None
    erased: Person = msgspec.structs.replace(person, name="", phone="", has_notices=False, erased_at=state.now)
    state.people.change(person.id, erased)
    account = state.accounts.get(command.account)
    assert account is not None, "a person without an account"
    closed = msgspec.structs.replace(account, name="", state="closed", updated_at=state.now)
    state.accounts.change(account.number, closed)
    state.logins.remove(login.email)
    state.pins.remove(person.id)
    state.identities.remove(person.id)
    _forget_images(state, person.id)
    for passkey in passkeys:
        state.passkeys.remove(passkey)
    state.count(counter.passkeys(person.id), -len(passkeys))
    for key in command.challenges:
        challenge = state.challenges.get(key)
        if challenge is not None and (challenge.person == person.id or challenge.email == login.email):
            state.challenges.remove(key)
    state.note(command.actor, "person.erased", f"person {person.id}")
    return erased


def _own_passkeys(command: ErasePerson, state: State) -> set[bytes]:
    found = ((passkey, state.passkeys.get(passkey)) for passkey in command.passkeys)
    return {passkey for passkey, known in found if known is not None and known.person == command.person}


def _own_businesses(command: ErasePerson, state: State) -> dict[int, Account]:
    found = (state.accounts.get(business) for business in command.businesses)
    return {
        row.number: row
        for row in found
        if row is not None and (row.owner, row.kind, row.mode) == (command.person, "commercial", "live")
    }


def _has_left_something(command: ErasePerson, businesses: dict[int, Account], state: State) -> bool:
    return (
        holds_money(state, command.account)
        or any(state.counted(counter.open_payouts(account)) for account in (command.account, *businesses))
        or any(business.state not in _OVER for business in businesses.values())
    )


def _decide(state: State, person: int, to: str, *, operator: int, reason: str) -> Identity | None:
    before = state.identities.get(person)
    if before is None or before.state != "submitted":
        return None
    decided: Identity = msgspec.structs.replace(
        before, state=to, reason=reason, decided_at=state.now, decided_by=operator
    )
    state.identities.change(person, decided)
    return decided


def _forget_images(state: State, person: int) -> int:
    found = [side for side in SIDES if state.identity_images.get((person, side)) is not None]
    for side in found:
        state.identity_images.remove((person, side))
    return len(found)
