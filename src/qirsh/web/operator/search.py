"""What an operator has typed: an id, an address, the bank's reference, or a name. Never the text of a payment."""

import re
from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.event import parse_event_id
from qirsh.domain.identifier import is_account_number
from qirsh.domain.money import format_amount
from qirsh.domain.name_word import name_words
from qirsh.domain.operator_role import OperatorRight, may
from qirsh.domain.payment import Payment
from qirsh.domain.payout import Payout
from qirsh.domain.person import normal_email
from qirsh.domain.refund import is_refund_id
from qirsh.domain.tables import Tables
from qirsh.language.figures import latin_digits
from qirsh.store.reads.events import EVENT_PAYMENT
from qirsh.store.reads.operator_search import accounts_named, bank_orders_with, payouts_with
from qirsh.web.http.context import Context

_ID: Final = re.compile(r"[a-z]{2,4}_[0-9A-Za-z_]{1,60}", re.ASCII)
_PERSON: Final = re.compile(r"person ([1-9][0-9]{0,17})", re.ASCII)
_MOST: Final = limits.HITS_OF_KIND_MAX


class Hit(msgspec.Struct, frozen=True):
    """One thing that was found, and where it is shown."""

    kind: str
    id: str  # As it is known outside.
    page: str  # The address below the console.
    name: str = ""
    state: str = ""


class Found(msgspec.Struct, frozen=True):
    """All hits, and whether some kind has more of them."""

    hits: list[Hit]
    has_more: bool = False


async def search(context: Context, text: str, roles: str) -> Found:
    """Exactly what was named comes first. An e-mail address finds nobody for who may not see it.

    Each hit leads to a page that an operator in these roles may see.
    """
    text = " ".join(text.split())
    if not text or len(text) > limits.SEARCH_CHARACTERS_MAX or not text.isprintable():
        return Found([])
    if hits := await _by_number(context, text) or await _by_id(context, text, roles):
        return Found(hits)
    sees_contacts = may(roles, OperatorRight.SEE_CONTACTS)
    if "@" in text and (hits := await _by_email(context, text) if sees_contacts else []):
        return Found(hits)
    hits = await _by_reference(context, text, roles)
    words = tuple(sorted(name_words(text)))[: limits.SEARCH_WORDS_MAX]
    if not words or "@" in text:
        return Found(hits)
    people = await accounts_named(context.store, "personal", words, _MOST)
    shops = await accounts_named(context.store, "commercial", words, _MOST)
    named = [account_hit(account) for found in (shops, people) for account in found.accounts]
    return Found(hits + named, people.has_more or shops.has_more)


def account_hit(account: Account) -> Hit:
    """A personal account is shown as its owner, a test account as its business."""
    if account.kind == "personal" and account.mode == "live" and account.owner is not None:
        return Hit("person", str(account.number), f"/operator/people/{account.owner}", account.name, account.state)
    shown = account.number if account.live_account is None else account.live_account
    # The house is always open, and a test account has the state of its business.
    state = account.state if account.mode == "live" and account.kind != "house" else ""
    return Hit("account", str(account.number), f"/operator/accounts/{shown}", account.name, state)


async def _by_number(context: Context, text: str) -> list[Hit]:
    digits = latin_digits(text).replace(" ", "").replace("-", "")
    if is_account_number(digits):
        account = await context.store.find(Tables.accounts, int(digits))
        return [] if account is None else [account_hit(account)]
    number = context.identifiers.payment_number(digits)
    payment = None if number is None else await context.store.find(Tables.payments, number)
    return [] if payment is None else [_payment_hit(context, payment, "payment", digits)]


async def _by_id(context: Context, text: str, roles: str) -> list[Hit]:
    store = context.store
    if (named := _PERSON.fullmatch(text)) and (person := await store.find(Tables.people, int(named[1]))):
        return [Hit("person", str(person.account), f"/operator/people/{person.id}", person.name)]
    if not _ID.fullmatch(text):
        return []
    payment: int | None = None
    kind = "event"
    if event := parse_event_id(text):
        rows = await store.select(EVENT_PAYMENT, *event)
        payment = rows[0][0] if rows else None
    elif is_refund_id(text):
        kind, refund = "refund", await store.find(Tables.refunds, text)
        payment = None if refund is None else refund.payment
    elif request := await store.find(Tables.logged_requests, text):
        kind, payment = "request", request.payment
        if payment is None:
            return [await _of_account(context, "request", text, request.account)]
    elif key := await store.find(Tables.api_keys, text):
        return [await _of_account(context, "key", text, key.account, f"{key.name} …{key.hint}")]
    elif payout := await store.find(Tables.payouts, text):
        return [await _payout_hit(context, payout, roles)]
    elif proposal := await store.find(Tables.proposals, text):
        return [Hit("proposal", text, f"/operator/proposals/{text}", proposal.subject, proposal.state)]
    found = None if payment is None else await store.find(Tables.payments, payment)
    return [] if found is None else [_payment_hit(context, found, kind, text)]


async def _by_email(context: Context, text: str) -> list[Hit]:
    email = normal_email(text)
    login = None if email is None else await context.store.find(Tables.logins, email)
    person = None if login is None else await context.store.find(Tables.people, login.person)
    if person is None:
        return []
    return [Hit("person", str(person.account), f"/operator/people/{person.id}", person.name)]


async def _by_reference(context: Context, text: str, roles: str) -> list[Hit]:
    """As the bank wrote it: who may read its statements sees what was agreed to, others whose money it is."""
    hits = []
    for order in await bank_orders_with(context.store, text, _MOST):
        amount = f"{format_amount(order.amount, order.currency)} {order.currency}"
        hit = await _of_account(context, order.kind, text, order.account, amount)
        is_shown = may(roles, OperatorRight.SEE_BANK)
        hits.append(msgspec.structs.replace(hit, page=f"/operator/proposals/{order.proposal}") if is_shown else hit)
    payouts = await payouts_with(context.store, text, _MOST)
    return hits + [await _payout_hit(context, payout, roles) for payout in payouts]


def _payment_hit(context: Context, payment: Payment, kind: str, shown: str) -> Hit:
    payment_id = context.identifiers.payment_id(payment.number)
    amount = f"{format_amount(payment.amount, payment.currency)} {payment.currency}"
    return Hit(kind, shown, f"/operator/payments/{payment_id}", amount, payment.status)


async def _payout_hit(context: Context, payout: Payout, roles: str) -> Hit:
    amount = f"{format_amount(payout.amount, payout.currency)} {payout.currency}"
    hit = await _of_account(context, "payout", payout.id, payout.account, amount)
    is_shown = may(roles, OperatorRight.ASK_MONEY)
    page = f"/operator/payouts/{payout.id}" if is_shown else hit.page
    return msgspec.structs.replace(hit, page=page, state=payout.state)


async def _of_account(context: Context, kind: str, shown: str, number: int, name: str = "") -> Hit:
    """What is shown on the page of the account that it belongs to."""
    account = await context.store.find(Tables.accounts, number)
    assert account is not None, "referred to"
    return Hit(kind, shown, account_hit(account).page, name or account.name)
