"""Who was faster: a decision that another operator has taken meanwhile is told with who it was, and when."""

from typing import Any, Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.account import Account
from qirsh.domain.commands.account import MoveAccount
from qirsh.domain.commands.identity import RejectIdentity
from qirsh.domain.tables import Tables
from qirsh.store.reads.account_history import entries_of_account
from qirsh.web.http.context import Context
from qirsh.web.operator.action import ActionRefused, Params, number_in, submit

# What a request can become, in the words of audit entries.
_DECISIONS: Final = frozenset({"account.verified", "account.approved", "account.rejected", "identity.rejected"})
_LOOKED_AT: Final = 20


async def decide(context: Context, account: Account | None, command: MoveAccount | RejectIdentity) -> Any:  # noqa: ANN401 - the outcome of the command
    """The outcome; or a refusal that says who has decided before."""
    try:
        return await submit(context, command)
    except ActionRefused as refused:
        is_decision = isinstance(command, RejectIdentity) or command.to in {"verified", "approved", "rejected"}
        if refused.code != "move_not_allowed" or account is None or not is_decision:
            raise
        if account.state in {"suspended", "closed"}:  # It was decided long ago, and this is why not.
            raise
        if (told := await decided_words(context, account)) is None:
            raise
        raise ActionRefused("already_decided", told) from None


def seen_at(params: Params) -> int | None:
    """Of which form a page was, where it says so: when it was sent."""
    return number_in(params.get("seen"))


async def decided_words(context: Context, account: Account) -> str | None:
    """By whom, when, and how; None if nobody has decided on it."""
    for entry in await entries_of_account(context.store, account.number, _LOOKED_AT):
        if entry.action in _DECISIONS:
            how, who = entry.action.partition(".")[2], await actor_name(context, entry.actor)
            return f"Decided already: {how} by {who}, {timestamp(entry.at)}."
    return None


async def actor_name(context: Context, actor: str) -> str:
    """Of an operator, as audit entries name them: `operator 3 (console)`."""
    kind, number = [*actor.split(), "", ""][:2]
    person = await context.store.find(Tables.people, int(number)) if kind == "operator" and number.isdigit() else None
    return actor if person is None else person.name
