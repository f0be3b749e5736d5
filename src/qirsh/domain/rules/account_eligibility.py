"""Whether an account may act at all, the one gate of every rule that moves money or gives a right."""

from qirsh.domain.account import Account
from qirsh.domain.refusal import Refusal
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def lock_live_account(work: UnitOfWork, account: int, keys: RowKeys) -> None:
    """A test account has the state of its live account, so that is needed too."""
    row = work.accounts.get(account)
    if row is not None and row.live_account is not None:
        keys.accounts.add(row.live_account)


def why_not_acting(work: UnitOfWork, account: Account) -> Refusal | None:
    """The account that answers for this one must be verified or approved, by its kind."""
    if account.live_account is not None:
        live = work.accounts.get(account.live_account)
        assert live is not None, "a test account without its live one"
        account = live
    return why_not_in_order(account)


def why_not_in_order(account: Account) -> Refusal | None:
    """By its own state alone, which a test account does not have."""
    if account.state in {"suspended", "closed"}:
        return Refusal.ACCOUNT_SUSPENDED
    if account.kind == "personal" and account.state != "verified":
        return Refusal.NOT_VERIFIED
    if account.kind == "commercial" and account.state != "approved":
        return Refusal.NOT_APPROVED
    return None
