"""A small town for the bench: one merchant with a key, customers with money and sessions. Made by the engine itself."""

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec

from qirsh.domain.api_key import SESSION_KIND, make_token, token_hash
from qirsh.domain.command import (
    AddPerson,
    AskCash,
    ChangePin,
    Command,
    ConfirmCash,
    MakeOperator,
    MoveAccount,
    OpenSession,
    RequestCommercial,
)
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.refusal import Refused
from qirsh.service import opened
from qirsh.settings import read_settings
from qirsh.store import queries
from qirsh.web.operator import acts
from qirsh.web.parts import Parts
from qirsh.web.sign_in import TOTP_PURPOSE

PIN: Final = "123456"
CURRENCY: Final = "SYP"
_ACTOR: Final = "bench"


class Town(msgspec.Struct, frozen=True):
    """Who there is, and what they show to be let in."""

    key: str
    merchant: int
    payers: tuple[int, ...]
    sessions: tuple[str, ...]


class _Customer(msgspec.Struct, frozen=True):
    account: int
    session: str


def seed(data_dir: Path, *, payers: int) -> Town:
    """Fill an empty directory; nothing holds it open afterwards."""
    return asyncio.run(_seed(data_dir, payers))


async def _seed(data_dir: Path, payers: int) -> Town:
    settings = read_settings({"QIRSH_DATA_DIR": str(data_dir)})
    async with opened(settings) as parts:
        # One hash for all: argon2 for each of them would take longer than a round.
        password_hash = await parts.passwords.hash("correct horse battery")
        asks = await _operator(parts, 1, password_hash, by=None)
        confirms = await _operator(parts, 2, password_hash, by=asks)
        key, merchant = await _merchant(parts, password_hash, operator=asks)
        customers = await asyncio.gather(
            *(_customer(parts, n, password_hash, asks=asks, confirms=confirms) for n in range(payers))
        )
    return Town(
        key,
        merchant,
        tuple(customer.account for customer in customers),
        tuple(customer.session for customer in customers),
    )


async def _operator(parts: Parts, number: int, password_hash: str, *, by: int | None) -> int:
    email = f"operator{number}@bench.example"
    await _do(parts, AddPerson(email, f"Operator {number}", password_hash, _ACTOR))
    sealed = parts.keyring.seal(b"nobody signs in with this", TOTP_PURPOSE)
    person: int = await _do(parts, MakeOperator(email, sealed, by, _ACTOR))
    return person


async def _merchant(parts: Parts, password_hash: str, *, operator: int) -> tuple[str, int]:
    person = await _do(parts, AddPerson("merchant@bench.example", "Merchant", password_hash, _ACTOR))
    await _do(parts, MoveAccount(person.account, "verified", operator, "", _ACTOR))
    shop = await _do(parts, RequestCommercial(person.account, "Shop", "https://shop.example", _ACTOR))
    await _do(parts, MoveAccount(shop.number, "approved", operator, "", _ACTOR))
    issued = await acts.issue_key(parts, acts.Actor(operator), {"account": str(shop.number)})
    return issued["key"], shop.number


async def _customer(parts: Parts, number: int, password_hash: str, *, asks: int, confirms: int) -> _Customer:
    email = f"customer{number}@bench.example"
    person = await _do(parts, AddPerson(email, f"Customer {number}", password_hash, _ACTOR))
    await _do(parts, MoveAccount(person.account, "verified", asks, "", _ACTOR))
    await _do(parts, ChangePin(person.id, parts.keyring.pin_mac(person.id, PIN), _ACTOR))
    house = (await parts.store.select(queries.HOUSE_ACCOUNT, acts.HOUSE))[0][0]
    deposit = AskCash(
        kind="deposit",
        house=house,
        reference=f"deposit-{number}",
        account=person.account,
        currency=CURRENCY,
        amount=AMOUNT_MAX,
        operator=asks,
        actor=_ACTOR,
    )
    await _do(parts, deposit)
    await _do(parts, ConfirmCash("deposit", house, deposit.reference, confirms, _ACTOR))
    token = make_token(SESSION_KIND, parts.entropy(32))
    await _do(parts, OpenSession(token_hash(token.encode()), person.id, person.account, _ACTOR))
    return _Customer(person.account, token)


async def _do(parts: Parts, command: Command) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
    outcome = await parts.engine.submit(command)
    assert type(outcome) is not Refused, (command, outcome)
    return outcome
