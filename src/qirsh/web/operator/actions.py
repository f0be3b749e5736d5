"""What operators do, as named acts: words in, a command down, words out. The CLI's socket is their only face so far."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.account import Account, origin
from qirsh.domain.api_key import SCOPES, key_kind, make_token, token_hash
from qirsh.domain.commands.account import CloseAccount, IssueKey, MoveAccount, RequestCommercial, RevokeKey
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import is_pin
from qirsh.domain.tables import Tables
from qirsh.language.business_name import is_plain_name
from qirsh.language.catalog import mark as _
from qirsh.store.reads import queries
from qirsh.web.auth.password_policy import is_weak_pin
from qirsh.web.http.context import Context
from qirsh.web.operator.access_actions import ACCESS_ACTIONS
from qirsh.web.operator.action import (
    Action,
    ActionRefused,
    Actor,
    Handler,
    Params,
    account_number,
    added_person,
    reason_of,
    submit,
    word_text,
)
from qirsh.web.operator.audit_actions import AUDIT_ACTIONS
from qirsh.web.operator.bank_actions import BANK_ACTIONS
from qirsh.web.operator.brand_actions import BRAND_ACTIONS
from qirsh.web.operator.decided import decide, seen_at
from qirsh.web.operator.full_check import run_audit
from qirsh.web.operator.help_actions import HELP_ACTIONS
from qirsh.web.operator.ledger_actions import LEDGER_ACTIONS
from qirsh.web.operator.message_actions import MESSAGE_ACTIONS
from qirsh.web.operator.money_actions import MONEY_ACTIONS
from qirsh.web.operator.operator_actions import OPERATOR_ACTIONS
from qirsh.web.operator.owner_mail import letters_on_key, letters_on_move
from qirsh.web.operator.payout_actions import PAYOUT_ACTIONS
from qirsh.web.operator.people_actions import PEOPLE_ACTIONS
from qirsh.web.operator.proposal_actions import PROPOSAL_ACTIONS, ask
from qirsh.web.operator.search_actions import SEARCH_ACTIONS
from qirsh.web.operator.system_actions import SYSTEM_ACTIONS

_DAY_MS: Final = 24 * 3600 * 1000


async def add_person(context: Context, actor: Actor, params: Params) -> Params:
    """A person with a personal account and a payment PIN."""
    pin = _pin(params)
    person = await added_person(context, actor, params)
    await submit(
        context, ChangePin(person.id, context.keyring.pin_mac(person.id, pin), actor.name, operator=actor.person)
    )
    return {"person": person.id, "account": str(person.account), "state": "unverified"}


async def request_account(context: Context, actor: Actor, params: Params) -> Params:
    """A commercial account for the owner of a verified personal account."""
    origins = word_text(params, "returnOrigins", limits.URL_CHARACTERS_MAX, default="").split()
    for text in origins:
        if origin(text) != text:
            raise ActionRefused(
                "invalid",
                _("%(origin)s is not an origin such as https://shop.example"),
                field="returnOrigins",
                origin=text,
            )
    name = word_text(params, "name", limits.NAME_CHARACTERS_MAX)
    if not is_plain_name(name):
        raise ActionRefused("invalid", _("must be without check marks, pictures and hidden letters"), field="name")
    account = await submit(
        context,
        RequestCommercial(
            personal=account_number(params),
            name=name,
            return_origins=" ".join(origins),
            actor=actor.name,
            operator=actor.person,
        ),
    )
    return _account_words(account)


def move_account(to: str) -> Handler:
    """The act that brings an account to a state."""

    async def act(context: Context, actor: Actor, params: Params) -> Params:
        default = None if to == "rejected" else ""  # The owner is to read why.
        reason = reason_of(params, default=default)
        found = await context.store.find(Tables.accounts, account_number(params))
        if to == "resumed":
            target = "verified" if found is not None and found.kind == "personal" else "approved"
        else:
            target = to
        letters = await letters_on_move(context, found, target, reason)
        command = MoveAccount(
            account=account_number(params),
            to=target,
            operator=actor.id,
            reason=reason,
            actor=actor.name,
            letters=letters,
            seen=seen_at(params),
            resumes=to == "resumed" if target in {"verified", "approved"} else None,
        )
        account = await (submit(context, command) if to == "resumed" else decide(context, found, command))
        test_accounts = await context.store.select(queries.TEST_ACCOUNT, account.number)
        return _account_words(account) | ({"testAccount": str(test_accounts[0][0])} if test_accounts else {})

    return act


async def issue_key(context: Context, actor: Actor, params: Params) -> Params:
    """A new API key, shown here and never again."""
    number = account_number(params)
    if params.get("test"):
        test_accounts = await context.store.select(queries.TEST_ACCOUNT, number)
        if not test_accounts:
            raise ActionRefused(
                "not_found", _("This account has no test account: is it an approved commercial account?")
            )
        number = test_accounts[0][0]
    account = await context.store.find(Tables.accounts, number)
    if account is None:
        raise ActionRefused("not_found")
    scopes = word_text(params, "scopes", 500, default=" ".join(SCOPES)).split()
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise ActionRefused(
            "invalid",
            _("%(unknown)s: known are %(known)s"),
            field="scopes",
            unknown=", ".join(unknown),
            known=", ".join(SCOPES),
        )
    days = params.get("expiresInDays")
    if days is not None and (type(days) is not int or not 1 <= days <= limits.KEY_DAYS_MAX):
        raise ActionRefused("invalid", _("must be 1 to %(most)s"), field="expiresInDays", most=limits.KEY_DAYS_MAX)
    token = make_token(key_kind(account.mode), context.entropy(32))
    key = await submit(
        context,
        IssueKey(
            id=f"key_{context.entropy(9).hex()}",
            account=number,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            name=word_text(params, "name", limits.NAME_CHARACTERS_MAX, default="API key"),
            scopes=" ".join(scopes),
            expires_at=None if days is None else context.clock() + days * _DAY_MS,
            actor=actor.name,
            operator=actor.person,
            letters=await letters_on_key(context, account),
        ),
    )
    return {"id": key.id, "key": token, "account": str(number), "scopes": scopes}


async def revoke_key(context: Context, actor: Actor, params: Params) -> Params:
    """A key ends within a second."""
    reason = reason_of(params, default="")
    command = RevokeKey(word_text(params, "id", 64), actor.name, operator=actor.person, reason=reason)
    key = await submit(context, command)
    return {"id": key.id, "account": str(key.account), "state": "revoked"}


async def close_account(context: Context, actor: Actor, params: Params) -> Params:
    """An account is to end for good."""
    return await ask(context, actor, params, CloseAccount(account_number(params)))


async def lift_stop(context: Context, actor: Actor, params: Params) -> Params:
    """Money is to move again, once every rule of it holds."""
    [(last, is_open)] = await context.store.select(queries.LAST_STOP)
    if not is_open:
        raise ActionRefused("move_not_allowed", _("Payments are not paused."))
    return await ask(context, actor, params, LiftStop(last))


ACTIONS: Final[dict[str, Action]] = {
    "person add": Action(add_person, OperatorRight.DECIDE),
    "account request": Action(request_account, OperatorRight.DECIDE),
    "account verify": Action(move_account("verified"), OperatorRight.DECIDE),
    "account approve": Action(move_account("approved"), OperatorRight.DECIDE),
    "account reject": Action(move_account("rejected"), OperatorRight.DECIDE),
    "account suspend": Action(move_account("suspended"), OperatorRight.RESTRICT),
    "account resume": Action(move_account("resumed"), OperatorRight.RESUME),
    "account close": Action(close_account, OperatorRight.ASK_CLOSE),
    "key issue": Action(issue_key, OperatorRight.DECIDE),
    "key revoke": Action(revoke_key, OperatorRight.RESTRICT),
    "audit run": Action(run_audit, OperatorRight.CHECK_LEDGER),
    "audit lift": Action(lift_stop, OperatorRight.ASK_LIFT),
    **PROPOSAL_ACTIONS,
    **OPERATOR_ACTIONS,
    **ACCESS_ACTIONS,
    **PEOPLE_ACTIONS,
    **PAYOUT_ACTIONS,
    **BRAND_ACTIONS,
    **MESSAGE_ACTIONS,
    **MONEY_ACTIONS,
    **AUDIT_ACTIONS,
    **LEDGER_ACTIONS,
    **SYSTEM_ACTIONS,
    **BANK_ACTIONS,
    **SEARCH_ACTIONS,
    **HELP_ACTIONS,
}


def _pin(params: Params) -> str:
    pin = word_text(params, "pin", limits.PIN_DIGITS)
    if not is_pin(pin):
        raise ActionRefused("invalid", _("must have %(digits)s digits"), field="pin", digits=limits.PIN_DIGITS)
    if is_weak_pin(pin):
        raise ActionRefused(
            "invalid", _("is easy to guess; choose digits that follow no pattern and are no year"), field="pin"
        )
    return pin


def _account_words(account: Account) -> Params:
    return {
        "account": str(account.number),
        "kind": account.kind,
        "name": account.name,
        "state": account.state,
    }
