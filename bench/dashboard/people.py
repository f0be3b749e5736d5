"""Who there is: two shops with their owners, customers with money of three currencies, and their sessions."""

import secrets
from typing import Final

import msgspec

from bench.dashboard.history import CURRENCIES, Shop
from bench.seed import CURRENCY, Town, book, seed
from qirsh.domain.api_key import PAGE_SESSION_KIND, SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.refusal import Refused
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.interface import Query
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import HOUSE

PAYERS: Final = 500
_WITH_ALL_CURRENCIES: Final = 20
_OF_SMALL: Final = 2  # Customers who pay at the small shop only, so that the times of their transfers ascend.
_DEPOSIT: Final = 10**12
_ACTOR: Final = "bench"
_OWNER: Final = Query("SELECT owner FROM account WHERE number = $1")
_OPERATORS: Final = Query("SELECT person FROM operator WHERE ended_at IS NULL ORDER BY created_at, person")


class Doors(msgspec.Struct, frozen=True):
    """Who is signed in: owners with a browser, customers with an app."""

    large: str
    small: str
    customers: list[str]


def make_town(settings: Settings) -> Town:
    """In an empty database."""
    return seed(settings, shops=2, payers=PAYERS)


async def fund(settings: Settings, town: Town) -> tuple[Shop, Shop]:
    """Money of other currencies for some. What comes back are the large shop and the small one, and who pays there."""
    async with opened(settings) as context:
        [(house,)] = await context.store.select(queries.HOUSE_ACCOUNT, HOUSE)
        operators = [person for (person,) in await context.store.select(_OPERATORS)]
        for account in town.payers[:_WITH_ALL_CURRENCIES]:
            for currency in CURRENCIES:
                if currency != CURRENCY:
                    await _deposit(context, house, account, currency, operators)
        owners = [(await context.store.select(_OWNER, shop.account))[0][0] for shop in town.shops]
    regulars, few = town.payers[:-_OF_SMALL], town.payers[-_OF_SMALL:]
    rich = town.payers[:_WITH_ALL_CURRENCIES]
    return (
        Shop(town.shops[0].account, owners[0], {code: regulars if code == CURRENCY else rich for code in CURRENCIES}),
        Shop(town.shops[1].account, owners[1], {CURRENCY: few}),
    )


async def open_doors(settings: Settings, town: Town, owners: tuple[int, int]) -> Doors:
    """New sessions: those of an earlier run may have ended."""
    async with opened(settings) as context:
        customers = []
        for account in town.payers:
            [(person,)] = await context.store.select(_OWNER, account)
            customers.append(await _session(context, SESSION_KIND, person, account))
        browsers = []
        for owner in owners:
            [(account,)] = await context.store.select(Query("SELECT account FROM person WHERE id = $1"), owner)
            browsers.append(await _session(context, PAGE_SESSION_KIND, owner, account))
    return Doors(browsers[0], browsers[1], customers)


async def _session(context: Context, kind: str, person: int, account: int) -> str:
    token = make_token(kind, context.entropy(32))
    outcome = await context.engine.submit(OpenSession(token_hash(token.encode()), person, account, _ACTOR))
    assert type(outcome) is not Refused, outcome
    return token


async def _deposit(context: Context, house: int, account: int, currency: str, operators: list[int]) -> None:
    asks, confirms = operators[:2]
    deposit = BookBankTransfer(
        kind="deposit",
        house=house,
        reference=f"deposit-{secrets.token_hex(8)}",
        account=account,
        currency=currency,
        amount=_DEPOSIT,
    )
    await book(context, deposit, asks=asks, confirms=confirms)
