"""A person wants to be forgotten: what goes, what stays and why, and what has to be settled before."""

from typing import Final

import msgspec

from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.limits import (
    BUSINESSES_MAX,
    NOTES_FORGOTTEN_AT_ONCE,
    PAYOUTS_OPEN_MAX,
    SESSIONS_FORGOTTEN_AT_ONCE,
)
from qirsh.domain.note import note_subject
from qirsh.domain.refusal import Refusal, Refused
from qirsh.store.reads import people, queries
from qirsh.store.reads.staff import jobs_of
from qirsh.web.html.page_context import SIGN_IN, PageContext, page_context_of, signed_in
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    AccountHolder,
    account_holder_of,
    is_operator,
    is_reauthenticated,
)
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem

_ADDRESS: Final = "/wallet/erase"
_OVER: Final = frozenset({"rejected", "closed"})


class Left(msgspec.Struct, frozen=True):
    """What keeps an account open."""

    balances: list[tuple[str, int]]
    payouts: list[str]
    businesses: list[str]  # The names of those that are open.
    is_operator: bool

    def __bool__(self) -> bool:
        return bool(self.balances or self.payouts or self.businesses or self.is_operator)


async def show_erase(context: Context, request: Request) -> Response:
    """What it means, before anybody decides; and a last word to a person who was erased a moment ago."""
    page = await page_context_of(context, request)
    if page.caller is None:
        return page.render("account/erased.html") if page.flash_about("erase") == "done" else see_other(SIGN_IN)
    return await _page(page, await account_holder_of(page))


@signed_in
async def erase_account(page: PageContext) -> Response:
    """Once the password, and the code where there is one, have been given again."""
    typed = page.form("erase", *REAUTH_FIELDS)
    holder = await account_holder_of(page)
    login = holder.login
    left, businesses = await _left(page)
    if left:
        return await _page(page, holder, status=422)
    if not await is_reauthenticated(page, holder, typed):
        return await _page(page, holder, error="wrong", status=422)
    store = page.context.store
    outcome = await page.context.engine.submit(
        ErasePerson(
            person=page.person,
            account=page.user.account,
            email=login.email,
            passkeys=tuple(row[0] for row in await store.select(people.PASSKEYS_OF_PERSON, page.person)),
            businesses=businesses,
            actor=f"person {page.person}",
            challenges=tuple(await store.search(people.CHALLENGES_OF, page.person, login.email)),
            sessions=tuple(
                row[0] for row in await store.select(people.SESSIONS_LEFT_BY, page.person, SESSIONS_FORGOTTEN_AT_ONCE)
            ),
            jobs=tuple(job.account for job in await jobs_of(store, page.person)),
            notes=tuple(
                row[0]
                for row in await store.select(
                    people.NOTES_LEFT_ABOUT, note_subject("person", page.person), NOTES_FORGOTTEN_AT_ONCE
                )
            ),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MONEY_LEFT:  # It came in this very moment.
            return await _page(page, holder, status=422)
        raise to_problem(outcome)
    gone = page.redirect(_ADDRESS, "erase.done")
    gone.headers += await page.session.end()
    return gone


async def _page(page: PageContext, holder: AccountHolder, error: str = "", status: int = 200) -> Response:
    left, _ = await _left(page)
    return page.render("account/erase.html", status=status, left=left, has_code=holder.has_factor, error=error)


async def _left(page: PageContext) -> tuple[Left, tuple[int, ...]]:
    """What has to be settled before, and the numbers of all businesses."""
    store, account = page.context.store, page.user.account
    found = await store.select(people.BUSINESSES_OF, page.person, 10 * BUSINESSES_MAX)
    businesses = [(row[0], row[5], row[6]) for row in found]
    payouts = await store.select(people.OPEN_PAYOUTS_OF, account, PAYOUTS_OPEN_MAX)
    left = Left(
        balances=[
            (currency, amount) for currency, amount in await store.select(queries.BALANCES_OF, account) if amount
        ],
        payouts=[payout for (payout,) in payouts],
        businesses=[name for _, name, state in businesses if state not in _OVER],
        is_operator=await is_operator(page.context, page.person),
    )
    return left, tuple(number for number, _, _ in businesses)
