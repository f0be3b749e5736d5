"""What operators do, as named acts: words in, a command down, words out. The CLI's socket is their only face so far."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.account import Account, origin
from qirsh.domain.api_key import SCOPES, key_kind, make_token, token_hash
from qirsh.domain.bank_order import Kind
from qirsh.domain.commands.account import IssueKey, MoveAccount, RequestCommercial, RevokeKey
from qirsh.domain.commands.audit_log import RecordCheck
from qirsh.domain.commands.bank_order import AskCash, ConfirmCash
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.money import CURRENCIES, format_amount, parse_amount
from qirsh.domain.person import is_pin
from qirsh.domain.tables import Tables
from qirsh.store.integrity import hash_chain
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import CannotTell
from qirsh.store.reads import queries
from qirsh.web.http.context import Parts
from qirsh.web.http.problems import KINDS
from qirsh.web.operator.action import (
    Act,
    Actor,
    NotDone,
    Words,
    account_number,
    added_person,
    email_address,
    house,
    order_words,
    reference,
    submit,
    word_text,
)
from qirsh.web.operator.operator_actions import OPERATOR_ACTS
from qirsh.web.operator.owner_mail import letters_on_move
from qirsh.web.operator.payout_actions import PAYOUT_ACTS, letters_of_order
from qirsh.web.operator.people_actions import PEOPLE_ACTS

_DAY_MS: Final = 24 * 3600 * 1000


async def add_person(parts: Parts, actor: Actor, words: Words) -> Words:
    """A person with a personal account and a payment PIN."""
    pin = _pin(words)
    person = await added_person(parts, actor, words)
    await submit(parts, ChangePin(person.id, parts.keyring.pin_mac(person.id, pin), actor.name, operator=actor.person))
    return {"person": person.id, "account": str(person.account), "state": "unverified"}


async def set_pin(parts: Parts, actor: Actor, words: Words) -> Words:
    """A new PIN for a person who has locked or forgotten theirs."""
    pin = _pin(words)
    login = await parts.store.find(Tables.logins, email_address(words))
    if login is None:
        raise NotDone("not_found", "Nobody has this e-mail address.")
    await submit(
        parts, ChangePin(login.person, parts.keyring.pin_mac(login.person, pin), actor.name, operator=actor.person)
    )
    return {"person": login.person, "email": login.email}


async def request_account(parts: Parts, actor: Actor, words: Words) -> Words:
    """A commercial account for the owner of a verified personal account."""
    origins = word_text(words, "returnOrigins", limits.URL_CHARACTERS_MAX, default="").split()
    for text in origins:
        if origin(text) != text:
            raise NotDone("invalid", f"returnOrigins: {text} is not an origin such as https://shop.example")
    name = word_text(words, "name", limits.NAME_CHARACTERS_MAX)
    account = await submit(
        parts, RequestCommercial(account_number(words), name, " ".join(origins), actor.name, operator=actor.person)
    )
    return _account_words(account)


def move_account(to: str) -> Act:
    """The act that brings an account to a state."""

    async def act(parts: Parts, actor: Actor, words: Words) -> Words:
        reason = word_text(words, "reason", limits.NOTE_CHARACTERS_MAX, default="")
        found = await parts.store.find(Tables.accounts, account_number(words))
        if to == "resumed":
            target = "verified" if found is not None and found.kind == "personal" else "approved"
        else:
            target = to
        letters = await letters_on_move(parts, found, target, reason)
        account = await submit(parts, MoveAccount(account_number(words), target, actor.id, reason, actor.name, letters))
        twins = await parts.store.select(queries.TEST_TWIN, account.number)
        return _account_words(account) | ({"testAccount": str(twins[0][0])} if twins else {})

    return act


async def issue_key(parts: Parts, actor: Actor, words: Words) -> Words:
    """A new API key, shown here and never again."""
    number = account_number(words)
    if words.get("test"):
        twins = await parts.store.select(queries.TEST_TWIN, number)
        if not twins:
            raise NotDone("not_found", "This account has no test twin: is it an approved commercial account?")
        number = twins[0][0]
    account = await parts.store.find(Tables.accounts, number)
    if account is None:
        raise NotDone("not_found", KINDS["not_found"].detail)
    scopes = word_text(words, "scopes", 500, default=" ".join(SCOPES)).split()
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise NotDone("invalid", f"scopes: {', '.join(unknown)}: known are {', '.join(SCOPES)}")
    days = words.get("expiresInDays")
    if days is not None and (type(days) is not int or not 1 <= days <= limits.KEY_DAYS_MAX):
        raise NotDone("invalid", f"expiresInDays: must be 1 to {limits.KEY_DAYS_MAX}")
    token = make_token(key_kind(account.mode), parts.entropy(32))
    key = await submit(
        parts,
        IssueKey(
            id=f"key_{parts.entropy(9).hex()}",
            account=number,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            name=word_text(words, "name", limits.NAME_CHARACTERS_MAX, default="API key"),
            scopes=" ".join(scopes),
            expires_at=None if days is None else parts.clock() + days * _DAY_MS,
            actor=actor.name,
            operator=actor.person,
        ),
    )
    return {"id": key.id, "key": token, "account": str(number), "scopes": scopes}


async def revoke_key(parts: Parts, actor: Actor, words: Words) -> Words:
    """A key ends within a second."""
    key = await submit(parts, RevokeKey(word_text(words, "id", 64), actor.name, operator=actor.person))
    return {"id": key.id, "account": str(key.account), "state": "revoked"}


def ask_cash(kind: Kind) -> Act:
    """The act that asks for money to enter or leave."""

    async def act(parts: Parts, actor: Actor, words: Words) -> Words:
        currency = word_text(words, "currency", 3)
        if currency not in CURRENCIES:
            raise NotDone("invalid", f"currency: must be one of {', '.join(CURRENCIES)}")
        amount = parse_amount(word_text(words, "amount", 20), currency)
        if amount is None:
            raise NotDone("invalid", f"amount: must be like {format_amount(10098, currency)}, and more than zero")
        command = AskCash(
            kind=kind,
            house=await house(parts),
            reference=reference(words),
            account=account_number(words),
            currency=currency,
            amount=amount,
            operator=actor.id,
            actor=actor.name,
        )
        return order_words(await submit(parts, command))

    return act


def confirm_cash(kind: Kind) -> Act:
    """The act by which a second operator confirms, and the money moves."""

    async def act(parts: Parts, actor: Actor, words: Words) -> Words:
        bank, slip = await house(parts), reference(words)
        seen = await parts.store.find(Tables.cash_orders, (bank, slip))
        letters = await letters_of_order(parts, seen)
        asked_by = None if seen is None else seen.asked_by
        order = await submit(parts, ConfirmCash(kind, bank, slip, asked_by, actor.id, actor.name, letters))
        return order_words(order)

    return act


async def run_audit(parts: Parts, actor: Actor, _words: Words) -> Words:
    """Every rule at once, as `qirsh verify` would. Money that does not add up stops."""
    found = await _verified(parts)
    result = f"{len(found)} violations, the first: {found[0].sentence}" if found else "no violations"
    await submit(parts, RecordCheck(actor.name, result, actor.person))
    [(last, is_open)] = await parts.store.select(queries.LAST_STOP)
    broken = [violation.sentence for violation in found if violation.name not in hash_chain.NAMES]
    if broken and not is_open:
        await submit(parts, StopMoney(last + 1, broken[0], actor.name))
    return {
        "violations": len(found),
        "first": found[0].sentence if found else "",
        "money": "stopped" if broken or is_open else "moves",
    }


async def lift_stop(parts: Parts, actor: Actor, words: Words) -> Words:
    """Money moves again, once every rule holds. What the chain remembers may stay: it cannot be repaired."""
    reason = word_text(words, "reason", limits.NOTE_CHARACTERS_MAX)
    [(last, is_open)] = await parts.store.select(queries.LAST_STOP)
    if not is_open:
        raise NotDone("move_not_allowed", "Money movement is not stopped.")
    found = await _verified(parts)
    broken = [violation.sentence for violation in found if violation.name not in hash_chain.NAMES]
    if broken:
        raise NotDone("move_not_allowed", f"{len(broken)} rules are still broken, the first: {broken[0]}")
    stop = await submit(parts, LiftStop(last, reason, actor.name, actor.person))
    return {"stop": stop.id, "because": stop.reason, "money": "moves", "chainViolations": len(found)}


ACTS: Final[dict[str, Act]] = {
    "person add": add_person,
    "person pin": set_pin,
    "account request": request_account,
    "account verify": move_account("verified"),
    "account approve": move_account("approved"),
    "account reject": move_account("rejected"),
    "account suspend": move_account("suspended"),
    "account resume": move_account("resumed"),
    "account close": move_account("closed"),
    "key issue": issue_key,
    "key revoke": revoke_key,
    "deposit ask": ask_cash("deposit"),
    "deposit confirm": confirm_cash("deposit"),
    "withdraw ask": ask_cash("withdrawal"),
    "withdraw confirm": confirm_cash("withdrawal"),
    "audit run": run_audit,
    "audit lift": lift_stop,
    **OPERATOR_ACTS,
    **PEOPLE_ACTS,
    **PAYOUT_ACTS,
}


async def _verified(parts: Parts) -> list[Violation]:
    try:
        return await parts.verify()
    except CannotTell as error:
        raise NotDone("unavailable", str(error)) from error


def _pin(words: Words) -> str:
    pin = word_text(words, "pin", limits.PIN_DIGITS)
    if not is_pin(pin):
        raise NotDone("invalid", f"pin: must be {limits.PIN_DIGITS} digits")
    return pin


def _account_words(account: Account) -> Words:
    return {
        "account": str(account.number),
        "kind": account.kind,
        "name": account.name,
        "state": account.state,
    }
