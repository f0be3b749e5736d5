"""A business as its owner sees it. Whatever is another's is answered like what does not exist."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.business import Business
from qirsh.domain.identifier import is_account_number
from qirsh.domain.limits import KEYS_MAX
from qirsh.domain.tables import Tables
from qirsh.store.reads import people, queries
from qirsh.web.html.page_context import PageContext
from qirsh.web.http.problems import Problem


class Shop(msgspec.Struct, frozen=True):
    """A business as its owner sees it."""

    account: Account
    business: Business
    test_account: int | None  # There is one once it was approved.
    keys: list[ApiKey]
    balances: list[tuple[str, int]]

    @property
    def address(self) -> str:
        """The page of it."""
        return f"/wallet/business/{self.account.number}"


async def find_shop(page: PageContext, number: str) -> Shop:
    """The business with this number, if it is theirs."""
    store = page.context.store
    account = await store.find(Tables.accounts, int(number)) if is_account_number(number) else None
    if account is None or account.owner != page.person or account.kind != "commercial" or account.mode != "live":
        raise Problem("not_found")
    business = await store.find(Tables.businesses, account.number)
    assert business is not None, "a commercial account without its business"
    found = await store.select(queries.TEST_ACCOUNT, account.number)
    test_account: int | None = found[0][0] if found else None
    keys = await store.select(people.KEYS_OF_BOTH, account.number, test_account or account.number, KEYS_MAX)
    balances = await store.select(queries.BALANCES_OF, account.number)
    return Shop(account, business, test_account, [ApiKey(*row) for row in keys], balances)
