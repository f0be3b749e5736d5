"""A town for the bench: shops with keys, customers with money and sessions. Made by the engine itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

from qirsh.domain.api_key import SESSION_KIND, make_token, token_hash
from qirsh.domain.command import Command
from qirsh.domain.commands.account import MoveAccount, RequestCommercial
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.operator import AcceptAppointment, AppointOperator, MakeOperator
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, Mailed
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.limits import AMOUNT_MAX, OPERATOR_NEW_MS
from qirsh.domain.operator_role import ROLES
from qirsh.domain.proposal import shown_digest
from qirsh.domain.refusal import Refused
from qirsh.engine.clock import system_clock
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.operator import actions
from qirsh.web.operator.action import HOUSE, Actor

PIN: Final = "246813"
CURRENCY: Final = "SYP"
_ACTOR: Final = "bench"
_DEPOSIT: Final = AMOUNT_MAX // 100  # More than a bench spends, and what thousands hold does not exceed the house.
_AT_ONCE: Final = 256  # Far below what the engine lets wait.

T = TypeVar("T")


class Shop(msgspec.Struct, frozen=True):
    """A merchant's account and the key of its server."""

    account: int
    key: str


class Town(msgspec.Struct, frozen=True):
    """Who there is, and what they show to be let in."""

    shops: tuple[Shop, ...]
    payers: tuple[int, ...]
    sessions: tuple[str, ...]


class _Customer(msgspec.Struct, frozen=True):
    account: int
    session: str


def seed(settings: Settings, *, shops: int, payers: int) -> Town:
    """Fill an empty database; nothing holds it open afterwards."""
    return asyncio.run(_seed(settings, shops, payers))


async def _seed(settings: Settings, shops: int, payers: int) -> Town:
    # Long enough ago that the two operators count as two.
    async with opened(settings, clock=lambda: system_clock() - OPERATOR_NEW_MS) as context:
        # One hash for all: argon2 for each of them would take longer than a round.
        password_hash = await context.passwords.hash("correct horse battery")
        asks, confirms = await _operators(context, password_hash)
    async with opened(settings) as context:
        house = (await context.store.select(queries.HOUSE_ACCOUNT, HOUSE))[0][0]
        opened_shops = await _some_at_once(shops, lambda n: _shop(context, n, password_hash, operator=asks))
        customers = await _some_at_once(
            payers, lambda n: _customer(context, n, password_hash, house=house, asks=asks, confirms=confirms)
        )
    return Town(
        tuple(opened_shops),
        tuple(customer.account for customer in customers),
        tuple(customer.session for customer in customers),
    )


async def _some_at_once(count: int, make: Callable[[int], Awaitable[T]]) -> list[T]:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> T:
        async with turns:
            return await make(number)

    return await asyncio.gather(*(one(number) for number in range(count)))


async def _operators(context: Context, password_hash: str) -> tuple[int, int]:
    sealed = context.keyring.seal(b"nobody signs in with this", b"bench")
    email, new_email, link = "operator1@bench.example", "operator2@bench.example", context.entropy(32)
    await _do(context, AddPerson(email, "Operator 1", password_hash, _ACTOR))
    roles = " ".join(ROLES)
    first: int = await _do(context, MakeOperator(email, sealed, roles, _ACTOR))
    appoint = AppointOperator(new_email, "Operator 2", roles)
    asked = await _do(context, AskProposal("pr_second", appoint, "bench", first, _ACTOR, mailed=Mailed((), link)))
    second = await _do(context, AcceptAppointment(new_email, asked.id, link, "en", password_hash, sealed, totp_step=0))
    return first, second.id


async def _shop(context: Context, number: int, password_hash: str, *, operator: int) -> Shop:
    email = f"merchant{number}@bench.example"
    person = await _do(context, AddPerson(email, f"Merchant {number}", password_hash, _ACTOR))
    await _do(context, MoveAccount(person.account, "verified", operator, "", _ACTOR))
    shop = await _do(context, RequestCommercial(person.account, f"Shop {number}", "https://shop.example", _ACTOR))
    await _do(context, MoveAccount(shop.number, "approved", operator, "", _ACTOR))
    issued = await actions.issue_key(context, Actor(operator), {"account": str(shop.number)})
    return Shop(shop.number, issued["key"])


async def _customer(
    context: Context, number: int, password_hash: str, *, house: int, asks: int, confirms: int
) -> _Customer:
    email = f"customer{number}@bench.example"
    person = await _do(context, AddPerson(email, f"Customer {number}", password_hash, _ACTOR))
    await _do(context, MoveAccount(person.account, "verified", asks, "", _ACTOR))
    await _do(context, ChangePin(person.id, context.keyring.pin_mac(person.id, PIN), _ACTOR))
    deposit = BookBankTransfer(
        kind="deposit",
        house=house,
        reference=f"deposit-{number}",
        account=person.account,
        currency=CURRENCY,
        amount=_DEPOSIT,
    )
    await book(context, deposit, asks=asks, confirms=confirms)
    token = make_token(SESSION_KIND, context.entropy(32))
    await _do(context, OpenSession(token_hash(token.encode()), person.id, person.account, _ACTOR))
    return _Customer(person.account, token)


async def book(context: Context, command: BookBankTransfer, *, asks: int, confirms: int) -> None:
    """By two operators."""
    proposal = await _do(context, AskProposal(f"pr_{command.reference}", command, "bench", asks, _ACTOR))
    await _do(context, ConfirmProposal(proposal.id, shown_digest(proposal), asks, command, confirms, _ACTOR))


async def _do(context: Context, command: Command[Any]) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
    outcome = await context.engine.submit(command)
    assert type(outcome) is not Refused, (command, outcome)
    return outcome
