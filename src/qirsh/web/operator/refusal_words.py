"""What an operator reads where a command was refused: of an account's state, which one it is."""

from typing import Any, Final

from qirsh.domain.account import Account, may_move
from qirsh.domain.command import Command
from qirsh.domain.commands.account import CloseAccount, MoveAccount
from qirsh.domain.refusal import Refusal
from qirsh.domain.tables import Tables
from qirsh.web.http.context import Context
from qirsh.web.http.problems import PROBLEM_TYPES

_SHOWN: Final = {"unverified": "not verified", "requested": "waiting for approval", "rejected": "not approved"}


async def refusal_words(context: Context, command: Command[Any], why: Refusal) -> str:
    """Those of the refusal; with the state where that of the account is why."""
    wanted = getattr(command, "command", command)  # Of a proposal, what it holds.
    number = getattr(wanted, "account", None)
    account = await context.store.find(Tables.accounts, number) if type(number) is int else None
    told = ""
    if account is not None and why is Refusal.MOVE_NOT_ALLOWED and isinstance(wanted, MoveAccount | CloseAccount):
        told = _why_not_moved(account, wanted.to if isinstance(wanted, MoveAccount) else "closed")
    elif account is not None and why is Refusal.ACCOUNT_SUSPENDED and account.state in {"suspended", "closed"}:
        told = f"This account is {account.state}. Nothing was changed."
    return told or PROBLEM_TYPES[why.value].detail


def state_words(account: Account) -> str:
    """An act that its state does not allow."""
    shown = _SHOWN.get(account.state, account.state)
    return f"This account is {shown}, which does not allow this. Nothing was changed."


def _why_not_moved(account: Account, to: str) -> str:
    """Empty where it is not for the account's state."""
    if account.mode == "test":
        return "This is a test account, which follows its business. Nothing was changed."
    if account.state == to:
        return f"This account is {_SHOWN.get(account.state, account.state)} already. Nothing was changed."
    if not may_move(account, to):
        return state_words(account)
    return "This is the account of an operator. End the operator first." if to == "closed" else ""
