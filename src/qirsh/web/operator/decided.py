"""Who was faster: a decision that another operator has taken meanwhile is told with who it was, and when."""

from typing import Any, Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.account import Account
from qirsh.domain.commands.account import MoveAccount
from qirsh.domain.commands.identity import RejectIdentity
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads.account_history import entries_of_account
from qirsh.web.http.context import Context
from qirsh.web.operator.action import ActionRefused, Params, number_in, submit

# What a request can become, in the words of audit entries.
_REJECTED: Final = _("Decided already: rejected by %(who)s, %(at)s.")
_DECISIONS: Final = {
    "account.verified": _("Decided already: verified by %(who)s, %(at)s."),
    "account.approved": _("Decided already: approved by %(who)s, %(at)s."),
    "account.rejected": _REJECTED,
    "identity.rejected": _REJECTED,
}
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
        if (before := await decided_before(context, account)) is None:
            raise
        raise before from None


def seen_at(params: Params) -> int | None:
    """Of which form a page was, where it says so: when it was sent."""
    return number_in(params.get("seen"))


async def decided_before(context: Context, account: Account) -> ActionRefused | None:
    """By whom, when, and how; None if nobody has decided on it."""
    for entry in await entries_of_account(context.store, account.number, _LOOKED_AT):
        if told := _DECISIONS.get(entry.action):
            who = await actor_name(context, entry.actor)
            return ActionRefused("already_decided", told, who=who, at=timestamp(entry.at))
    return None


async def actor_name(context: Context, actor: str) -> str:
    """Of an operator, as audit entries name them: `operator 3 (console)`."""
    kind, number = [*actor.split(), "", ""][:2]
    person = await context.store.find(Tables.people, int(number)) if kind == "operator" and number.isdigit() else None
    return actor if person is None else person.name
