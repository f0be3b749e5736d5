"""A business as somebody sees who works there. To everybody else it is like what does not exist.

Which account it is stands in the address, live or test: two tabs never act on the wrong one.
"""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.account import Account, Mode
from qirsh.domain.business import Business
from qirsh.domain.identifier import is_account_number
from qirsh.domain.staff import Right, Role, may, role_of, scopes_beyond
from qirsh.domain.tables import Tables
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.web.http.problems import Problem


class Shop(msgspec.Struct, frozen=True):
    """One account of a business, and what a person may do there."""

    account: Account  # As the address names it.
    live: Account
    business: Business
    test_account: int | None  # There is one once it was approved.
    role: Role
    time_zone: ZoneInfo  # Of its days.

    @property
    def address(self) -> str:
        """What the addresses of its pages begin with."""
        return f"/business/{self.account.number}"

    @property
    def mode(self) -> Mode:
        """Whether it is about real money."""
        return self.account.mode

    @property
    def is_open(self) -> bool:
        """Whether it may act at all."""
        return self.live.state == "approved"

    @property
    def other(self) -> str:
        """The same business with test money, or with real money; empty if there is none."""
        number = self.live.number if self.account.mode == "test" else self.test_account
        return "" if number is None else f"/business/{number}"

    def may(self, right: str) -> bool:
        """Whether who is signed in has the right here."""
        return may(self.role, Right(right), self.account.mode)

    def beyond(self, scopes: Iterable[str]) -> dict[str, Right]:
        """The scopes of a key that give more than they have here, each with the right that they lack."""
        return scopes_beyond(self.role, scopes, self.account.mode)


async def find_shop(context: Context, person: int, number: str) -> Shop:
    """The business whose account has this number, if they work there."""
    store = context.store
    account = await store.find(Tables.accounts, int(number)) if is_account_number(number) else None
    if account is None or account.kind != "commercial":
        raise Problem("not_found")
    live = account
    if account.live_account is not None:
        found = await store.find(Tables.accounts, account.live_account)
        assert found is not None, "a test account without its live one"
        live = found
    role = role_of(person, live, await store.find(Tables.members, (live.number, person)))
    if role is None:
        raise Problem("not_found")
    business = await store.find(Tables.businesses, live.number)
    assert business is not None, "a commercial account without its business"
    test = await store.select(queries.TEST_ACCOUNT, live.number)
    return Shop(
        account=account,
        live=live,
        business=business,
        test_account=test[0][0] if test else None,
        role=role,
        time_zone=ZoneInfo(business.time_zone) if business.time_zone else context.time_zone,
    )
