"""What an operator reads where a command was refused: of an account's state, which one it is."""

from typing import Any, Final

from qirsh.domain.account import Account, may_move
from qirsh.domain.command import Command
from qirsh.domain.commands.account import CloseAccount, MoveAccount
from qirsh.domain.refusal import Refusal
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.web.http.context import Context

# By the state of the account.
_NOT_ALLOWED: Final[dict[str, str]] = {
    "unverified": _("This account is not verified, which does not allow this. Nothing was changed."),
    "verified": _("This account is verified, which does not allow this. Nothing was changed."),
    "requested": _("This account is waiting for approval, which does not allow this. Nothing was changed."),
    "approved": _("This account is approved, which does not allow this. Nothing was changed."),
    "rejected": _("This account is not approved, which does not allow this. Nothing was changed."),
    "suspended": _("This account is suspended, which does not allow this. Nothing was changed."),
    "closed": _("This account is closed, which does not allow this. Nothing was changed."),
}
_ALREADY: Final[dict[str, str]] = {
    "verified": _("This account is verified already. Nothing was changed."),
    "approved": _("This account is approved already. Nothing was changed."),
    "rejected": _("This account is rejected already. Nothing was changed."),
    "suspended": _("This account is suspended already. Nothing was changed."),
    "closed": _("This account is closed already. Nothing was changed."),
}


async def refusal_words(context: Context, command: Command[Any], why: Refusal) -> str:
    """With the state of the account where that is why; otherwise empty, for the words of the refusal itself."""
    wanted = getattr(command, "command", command)  # Of a proposal, what it holds.
    number = getattr(wanted, "account", None)
    account = await context.store.find(Tables.accounts, number) if type(number) is int else None
    if account is None:
        return ""
    if why is Refusal.MOVE_NOT_ALLOWED and isinstance(wanted, MoveAccount | CloseAccount):
        return _why_not_moved(account, wanted.to if isinstance(wanted, MoveAccount) else "closed")
    is_over = account.state in {"suspended", "closed"}
    return _NOT_ALLOWED[account.state] if is_over and why is Refusal.ACCOUNT_SUSPENDED else ""


def _why_not_moved(account: Account, to: str) -> str:
    """Empty of a house account, which has one state only."""
    if account.mode == "test":
        return _("This is a test account, which follows its business. Nothing was changed.")
    if account.state == to:
        return _ALREADY[to]
    if to == "closed" and may_move(account, to):
        return _("This is the account of an operator. End the operator first.")
    return _NOT_ALLOWED.get(account.state, "")
