"""People, shops, deposits, and what waits for operators: made by the service's own commands, many in a commit.

A person takes a fraction of a millisecond so, and every row, word, guard and entry is as the service would have it.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from bench.console.size import Size
from bench.seed import CURRENCY, PIN, book
from qirsh.domain.account import Account
from qirsh.domain.command import Command
from qirsh.domain.commands.account import MoveAccount, RequestCommercial
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.brand import RequestBrandChange
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.note import AddNote
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import AskProposal
from qirsh.domain.commands.shop_message import WriteToOperators
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refused
from qirsh.engine.bank_details import BankDetails, sealed
from qirsh.engine.identity_facts import Facts, document_macs, seal_facts, seal_picture
from qirsh.engine.note_text import sealed_text
from qirsh.service import opened
from qirsh.settings import Settings
from qirsh.store.interface import Query
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import HOUSE

GIVEN: Final = ("Ahmad", "Layla", "Omar", "Mariam", "أحمد", "ليلى", "Yusuf", "Ayşe", "Mehmet", "Nour")
FAMILY: Final = ("Haddad", "Khoury", "Al-Masri", "Yılmaz", "الحداد", "خوري", "Demir", "Najjar", "Sabbagh", "Kaya")
_TRADES: Final = ("Tea House", "Book Shop", "Pharmacy", "مخبز", "Kuyumcu", "Bicycle Repair", "Flowers")
_ACTOR: Final = "bench"
_AT_ONCE: Final = 512  # Far below what the engine lets wait.
_AMOUNT: Final = 10_000
_NOTED: Final = 50  # People and shops that something was written down about.
_PICTURE: Final = bytes(8192)
_PEOPLE: Final = Query("SELECT count(*) FROM person")
_OPERATORS: Final = Query("SELECT person FROM operator WHERE ended_at IS NULL ORDER BY created_at, person")


class Crowd(msgspec.Struct, frozen=True):
    """Some of those who are there, to be asked for."""

    operators: list[int]
    house: int
    people: list[int]
    emails: list[str]
    shops: list[int]  # Approved ones.
    waiting_people: list[int]  # Their accounts,
    waiting_shops: list[int]
    branded: list[int]
    payouts: list[str]
    proposals: list[str]
    references: list[str]  # Of the bank, for deposits.


def email_of(number: int) -> str:
    """Of one of them."""
    return f"person{number}@people.example"


def name_of(number: int) -> str:
    """Two words that many have, and one that nobody else has."""
    return f"{GIVEN[number % len(GIVEN)]} {own_word(number)} {FAMILY[number // len(GIVEN) % len(FAMILY)]}"


def own_word(number: int) -> str:
    """Nobody else's."""
    return "".join("bdfgklmnrt"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{number:06d}")


def reference_of(number: int) -> str:
    """The bank's, of a deposit."""
    return f"BNK-{number:08d}"


def amount_of(number: int) -> int:
    """Of a deposit, in the smallest unit."""
    return _AMOUNT + number % 5000


def operators_of(settings: Settings) -> list[int]:
    """Those who run the service of the bench."""
    return asyncio.run(_operators_of(settings))


async def _operators_of(settings: Settings) -> list[int]:
    async with opened(settings) as context:
        return [person for (person,) in await context.store.select(_OPERATORS)]


def gather(settings: Settings, size: Size, progress: Callable[[str], None]) -> Crowd:
    """In a database that has operators and payers already. Nothing holds it open afterwards."""
    return asyncio.run(_gather(settings, size, progress))


async def _gather(settings: Settings, size: Size, progress: Callable[[str], None]) -> Crowd:
    async with opened(settings) as context:
        [(house,)] = await context.store.select(queries.HOUSE_ACCOUNT, HOUSE)
        [(there,)] = await context.store.select(_PEOPLE)
        operators = [person for (person,) in await context.store.select(_OPERATORS)]
        made = _Made(context, house, operators, await context.passwords.hash("correct horse battery"))
        count = max(size.people - there, size.shops + size.identities, size.bank_lines)
        people = await _all(count, made.person, progress, "people")
        # Those at the end have shown who they are, and nobody has looked yet.
        waiting, verified = people[-size.identities :], people[: -size.identities]
        await _all(len(verified), lambda n: made.verify(verified[n]), progress, "people verified")
        await _all(len(waiting), lambda n: made.show_identity(waiting[n]), progress, "identities that wait")
        shops = await _all(size.shops, lambda n: made.shop(n, verified[n]), progress, "shops")
        asked, approved = shops[: size.businesses], shops[size.businesses :]
        await _all(len(approved), lambda n: made.approve(approved[n]), progress, "shops approved")
        await _all(size.bank_lines, lambda n: made.deposit(n, verified[n % len(verified)]), progress, "deposits")
        payouts = await _all(size.payouts, lambda n: made.payout(n, verified[n]), progress, "payouts that wait")
        proposals = await _all(size.proposals, lambda n: made.proposal(n, verified[n]), progress, "proposals")
        branded = approved[: size.brands]
        await _all(len(branded), lambda n: made.brand(n, branded[n]), progress, "changes of names")
        await _all(size.messages, lambda n: made.message(n, shops[n % len(shops)]), progress, "messages")
        noted = [("person", one.id) for one in verified[:_NOTED]] + [("account", one.number) for one in shops[:_NOTED]]
        await _all(len(noted), lambda n: made.note(n, *noted[n]), progress, "notes")
    step = max(1, len(verified) // 200)
    return Crowd(
        operators=operators,
        house=house,
        people=[one.id for one in verified[::step]],
        emails=[email_of(number) for number in range(0, len(people), step)],
        shops=[one.number for one in approved[:: max(1, len(approved) // 200)]],
        waiting_people=[one.account for one in waiting[:200]],
        waiting_shops=[one.number for one in asked[:200]],
        branded=[one.number for one in branded[:200]],
        payouts=payouts[:200],
        proposals=proposals[:200],
        references=[reference_of(number) for number in range(0, size.bank_lines, max(1, size.bank_lines // 200))],
    )


class _Made:
    """One of each kind."""

    def __init__(self, context: Context, house: int, operators: list[int], password_hash: str) -> None:
        self._context = context
        self._house = house
        self._asks, self._confirms = operators[:2]
        self._password_hash = password_hash  # One for all: argon2 for each would take hours.

    async def person(self, number: int) -> Person:
        made: Person = await self._do(AddPerson(email_of(number), name_of(number), self._password_hash, _ACTOR))
        return made

    async def verify(self, person: Person) -> None:
        await self._do(MoveAccount(person.account, "verified", self._asks, "", _ACTOR))

    async def show_identity(self, person: Person) -> None:
        keyring, given = self._context.keyring, person.name.split()
        # One in twenty shows a document that another account has shown.
        facts = Facts(given[0], given[-1], "1990-01-01", "passport", f"N{person.id - person.id % 20 // 19:09d}")
        pictures = (("front", seal_picture(keyring, _PICTURE, person.id, "front")),)
        command = SubmitIdentity(
            person.id,
            person.account,
            seal_facts(keyring, facts, person.id),
            pictures,  # type: ignore[arg-type]
            document_macs(keyring, facts)[0],
        )
        await self._do(command)

    async def shop(self, number: int, owner: Person) -> Account:
        name = f"{own_word(number).title()} {_TRADES[number % len(_TRADES)]}"
        made: Account = await self._do(RequestCommercial(owner.account, name, "https://shop.example", _ACTOR))
        return made

    async def approve(self, shop: Account) -> None:
        await self._do(MoveAccount(shop.number, "approved", self._asks, "", _ACTOR))

    async def deposit(self, number: int, person: Person) -> None:
        command = self._booking(reference_of(number), person, amount_of(number))
        await book(self._context, command, asks=self._asks, confirms=self._confirms)

    async def payout(self, number: int, person: Person) -> str:
        keyring, payout = self._context.keyring, f"po_{hashlib.sha256(b'%d' % number).hexdigest()[:24]}"
        macs = keyring.pin_mac(person.id, PIN)
        await self._do(ChangePin(person.id, macs, _ACTOR))
        details = sealed(keyring, BankDetails(person.name, "Bank of Bench", f"TR{number:020d}"), payout)
        await self._do(RequestPayout(payout, person.account, person.id, CURRENCY, 1000, details, (macs,)))
        return payout

    async def proposal(self, number: int, person: Person) -> str:
        command = self._booking(f"waits-{number}", person, amount_of(number))
        asked = await self._do(AskProposal(f"pr_waits_{number}", command, "it came", self._asks, _ACTOR))
        return str(asked.id)

    async def brand(self, number: int, shop: Account) -> None:
        assert shop.owner is not None
        command = RequestBrandChange(shop.number, f"bc_{number}", f"{shop.name} II", "", None, "", shop.owner)
        await self._do(command)

    async def message(self, number: int, shop: Account) -> None:
        assert shop.owner is not None
        await self._do(WriteToOperators(f"msg_{number}", shop.number, "When will it be decided?", shop.owner))

    async def note(self, number: int, about: Any, subject: int) -> None:  # noqa: ANN401 - one of three words
        name = f"note_{number}"
        text = sealed_text(self._context.keyring, "Called, and will send the paper.", name)
        await self._do(AddNote(name, about, subject, text, self._asks, _ACTOR))

    def _booking(self, reference: str, person: Person, amount: int) -> BookBankTransfer:
        return BookBankTransfer(
            kind="deposit",
            house=self._house,
            reference=reference,
            account=person.account,
            currency=CURRENCY,
            amount=amount,
        )

    async def _do(self, command: Command[Any]) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
        outcome = await self._context.engine.submit(command)
        assert type(outcome) is not Refused, (command, outcome)
        return outcome


async def _all(
    count: int, make: Callable[[int], Awaitable[Any]], progress: Callable[[str], None], what: str
) -> list[Any]:
    """So many at once that each commit has its fill."""
    made: list[Any] = []
    progress(f"{count:,} {what}")
    for first in range(0, count, _AT_ONCE):
        made += await asyncio.gather(*(make(number) for number in range(first, min(count, first + _AT_ONCE))))
        if len(made) % (_AT_ONCE * 40) == 0:
            progress(f"{len(made):,} of {count:,} {what}")
    return made
