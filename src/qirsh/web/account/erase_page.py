"""A person wants to be forgotten: what goes, what stays and why, and what has to be settled before."""

from typing import Final

import msgspec

from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.limits import BUSINESSES_MAX, PAYOUTS_OPEN_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.store.reads import people, queries
from qirsh.web.html.page_context import SIGN_IN, Visit, signed_in, visit_of
from qirsh.web.html.reauthentication import PROOF, Keeper, is_operator, is_proved, keeper_of
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import problem_of

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


async def show_erase(parts: Parts, request: Request) -> Response:
    """What it means, before anybody decides; and a last word to whoever was erased a moment ago."""
    visit = await visit_of(parts, request)
    if visit.caller is None:
        return visit.page("account/erased.html") if visit.word("erase") == "done" else see_other(SIGN_IN)
    return await _page(visit, await keeper_of(visit))


@signed_in
async def erase_account(visit: Visit) -> Response:
    """Once the password, and the code where there is one, have been given again."""
    typed = visit.form("erase", *PROOF)
    keeper = await keeper_of(visit)
    login = keeper.login
    left, businesses = await _left(visit)
    if left:
        return await _page(visit, keeper, status=422)
    if not await is_proved(visit, keeper, typed):
        return await _page(visit, keeper, error="wrong", status=422)
    store = visit.parts.store
    outcome = await visit.parts.engine.submit(
        ErasePerson(
            person=visit.person,
            account=visit.who.account,
            email=login.email,
            passkeys=tuple(row[0] for row in await store.select(people.PASSKEYS_OF_PERSON, visit.person)),
            businesses=businesses,
            actor=f"person {visit.person}",
            challenges=tuple(await store.search(people.CHALLENGES_OF, visit.person, login.email)),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MONEY_LEFT:  # It came in this very moment.
            return await _page(visit, keeper, status=422)
        raise problem_of(outcome)
    gone = visit.go(_ADDRESS, "erase.done")
    gone.headers.append(await visit.end())
    return gone


async def _page(visit: Visit, keeper: Keeper, error: str = "", status: int = 200) -> Response:
    left, _ = await _left(visit)
    return visit.page("account/erase.html", status=status, left=left, has_code=keeper.has_factor, error=error)


async def _left(visit: Visit) -> tuple[Left, tuple[int, ...]]:
    """What has to be settled before, and the numbers of all businesses."""
    store, account = visit.parts.store, visit.who.account
    found = await store.select(people.BUSINESSES_OF, visit.person, 10 * BUSINESSES_MAX)
    businesses = [(row[0], row[5], row[6]) for row in found]
    payouts = await store.select(people.OPEN_PAYOUTS_OF, account, PAYOUTS_OPEN_MAX)
    left = Left(
        balances=[
            (currency, amount) for currency, amount in await store.select(queries.BALANCES_OF, account) if amount
        ],
        payouts=[payout for (payout,) in payouts],
        businesses=[name for _, name, state in businesses if state not in _OVER],
        is_operator=await is_operator(visit.parts, visit.person),
    )
    return left, tuple(number for number, _, _ in businesses)
