"""The bank accounts of a business, as SQL that both engines speak."""

from typing import Final

from qirsh.domain.bank_account import BankAccount
from qirsh.domain.limits import BANK_ACCOUNTS_MAX
from qirsh.store.interface import Query, Store

_OF_ACCOUNT: Final = Query(
    f"SELECT {', '.join(BankAccount.__struct_fields__)} FROM bank_account WHERE account = $1"  # noqa: S608 - our own names
    " ORDER BY created_at, id LIMIT $2"
)


async def bank_accounts_of(store: Store, account: int) -> list[BankAccount]:
    """In the order in which they were named."""
    return [BankAccount(*row) for row in await store.select(_OF_ACCOUNT, account, BANK_ACCOUNTS_MAX)]
