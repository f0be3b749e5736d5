"""What operators do: words from the command line become an act of the service. Secrets never stand in the arguments."""

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import click
import msgspec

from qirsh.cli import control_client, running_server
from qirsh.cli.errors import Declined, Stopped
from qirsh.cli.operator.credentials import ask_credentials, new_secret
from qirsh.doctor.database_probe import has_begun, operators, shown
from qirsh.domain.api_key import SCOPES
from qirsh.domain.money import CURRENCIES
from qirsh.settings import Settings, read_settings
from qirsh.web.operator.control import OperatorReply, OperatorRequest

F = TypeVar("F", bound=Callable[..., None])

# What an operator should know about what was done, beyond the facts that follow it.
_DONE: Final = {
    "person add": "Person added. `qirsh account verify` is next, once you have checked their identity.",
    "account request": "Commercial account requested. Another person than its owner approves or rejects it.",
    "account verify": "Account verified.",
    "account approve": "Account approved.",
    "account reject": "Account rejected.",
    "account suspend": "Account suspended: it can read, and nothing else.",
    "account resume": "Account resumed.",
    "account close": "Closing requested. Nothing has changed: another operator must run `qirsh proposal confirm`.",
    "key issue": "API key created. It is shown only once and is not stored.",
    "key revoke": "API key revoked: it stops working everywhere within a second.",
    "deposit ask": "Deposit requested. No money has moved: a second operator must confirm it.",
    "deposit confirm": "Deposit confirmed: the money has moved.",
    "withdraw ask": "Withdrawal requested. No money has moved: a second operator must confirm it.",
    "withdraw confirm": "Withdrawal confirmed: the money has moved.",
    "adjust ask": "Correction requested. No money has moved: another operator must run `qirsh proposal confirm`.",
    "reverse ask": "Reversal requested. No money has moved: another operator must run `qirsh proposal confirm`.",
    "house open": "House account requested. Nothing has changed: another admin must run `qirsh proposal confirm`.",
    "payout order": "Payout ordered. No money has moved: a second operator must confirm it.",
    "payout refuse": "Payout declined. The person who requested it sees the reason.",
    "brand approve": "Approved: customers see it from now on. The owner was told by mail.",
    "brand refuse": "Not approved: name and logo stay as they are. The owner sees the reason.",
    "message send": "Message sent. The owner is told by e-mail, which does not have its text.",
    "audit run": "Every rule was checked.",
    "audit lift": "Requested. Money stands still until another operator has run `qirsh proposal confirm`.",
}
# No answer to the wish itself.
_TROUBLE: Final = {"overloaded", "unavailable", "outcome_unknown", "internal_error", "bad_request", "unknown_act"}
_WHAT_NOW: Final = {
    "reference_used": "This attempt moved nothing. If it repeats an earlier one, that one counts: have it confirmed."
    " For other money, use another reference.",
    "already_reversed": "Nothing has moved. If the bank has moved it once more, book a deposit or a withdrawal.",
    "already_decided": "This attempt changed nothing.",
    "second_operator_needed": "Nothing has moved. Another operator than the one who requested it must confirm it.",
    "asker_not_operator": "Nothing has moved. Have it refused, and let another operator request it.",
    "appointed_recently": "Nothing has moved. `qirsh operator list`, by an admin, shows who was appointed when, and by"
    " whom.",
    "missing_right": "Nothing was done. Have an operator do it whose role allows it: docs/operators.md lists them.",
}


def as_json_option(arguments: F) -> F:
    """Every act can answer for a program too."""
    return click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")(arguments)


def house_option(arguments: F) -> F:
    """Where there are several banks."""
    told = "The house account of the bank, by its name or number. Without it: bank."
    return click.option("--house", default="", help=told)(arguments)


_INTERNAL: Final = "Kept in the audit entry, for operators: the owner and the staff do not see it."


def _reasoned(help_text: str, *, is_required: bool) -> Callable[[F], F]:
    if is_required:
        return click.option("--reason", required=True, help=help_text)
    return click.option("--reason", default="", help=help_text)


_email = click.option("--email", required=True)
_name = click.option("--name", required=True)
_reference = click.option("--reference", required=True, help="The bank's reference. The same one counts once.")
_password_stdin = click.option("--password-stdin", is_flag=True, help="Read the new password from standard input.")


@click.group("person")
def person_group() -> None:
    """Customers and owners of shops."""


@person_group.command("add")
@_email
@_name
@_password_stdin
@click.option("--pin-stdin", is_flag=True, help="Read the new PIN from standard input, after the password.")
@as_json_option
def person_add(*, email: str, name: str, password_stdin: bool, pin_stdin: bool, as_json: bool) -> None:
    """Add a person with a personal account."""
    password = new_secret("password", from_stdin=password_stdin)
    pin = new_secret("PIN", from_stdin=pin_stdin)
    params = {"email": email, "name": name, "password": password, "pin": pin}
    send_action("person add", params, as_json=as_json)


@click.group("account")
def account_group() -> None:
    """What a person or a shop may do. Accounts are known by their 12 digits."""


@account_group.command("request")
@click.argument("personal_account")
@click.option("--name", required=True, help="The name of the business, as customers see it.")
@click.option(
    "--return-origin",
    "origins",
    multiple=True,
    help="Where customers may be sent back to, such as https://shop.example; can be repeated.",
)
@as_json_option
def account_request(*, personal_account: str, name: str, origins: tuple[str, ...], as_json: bool) -> None:
    """Request a commercial account for the owner of a verified personal account."""
    params = {"account": personal_account, "name": name, "returnOrigins": " ".join(origins)}
    send_action("account request", params, as_json=as_json)


def _add_move(verb: str, summary: str, reason_help: str = _INTERNAL, *, is_reason_required: bool = False) -> None:
    @account_group.command(verb, help=summary)
    @click.argument("account")
    @_reasoned(reason_help, is_required=is_reason_required)
    @as_json_option
    def move(*, account: str, reason: str, as_json: bool) -> None:
        send_action(f"account {verb}", {"account": account, "reason": reason}, as_json=as_json)


_add_move("verify", "You have seen who the owner of a personal account is.")
_add_move("approve", "A requested commercial account may take payments.")
_add_move(
    "reject",
    "A requested commercial account may not take payments.",
    reason_help="The owner reads it, and it is kept in the audit entry.",
    is_reason_required=True,
)
_add_move("suspend", "Stop an account; reading still works.")
_add_move("resume", "Let a suspended account act again.")
_add_move("close", "Propose to end an account for good. Refused while it holds money.", is_reason_required=True)


@click.group("key")
def key_group() -> None:
    """API keys of commercial accounts."""


@key_group.command("issue")
@click.argument("account")
@click.option("--test", is_flag=True, help="A key for the test account of the account, which moves no real money.")
@click.option("--name", default="API key", show_default=True)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=SCOPES,
    help="What it may do; can be repeated. Without it: everything.",
)
@click.option("--expires-in-days", type=click.IntRange(1, 3650))
@as_json_option
def key_issue(
    *, account: str, test: bool, name: str, scopes: tuple[str, ...], expires_in_days: int | None, as_json: bool
) -> None:
    """Make a key for an approved commercial account. It is shown once."""
    params = {"account": account, "test": test, "name": name, "scopes": " ".join(scopes)}
    if expires_in_days is not None:
        params["expiresInDays"] = expires_in_days
    send_action("key issue", params, as_json=as_json)


@key_group.command("revoke")
@click.argument("key_id")
@_reasoned(_INTERNAL, is_required=False)
@as_json_option
def key_revoke(*, key_id: str, reason: str, as_json: bool) -> None:
    """End a key by its id (key_...), not by the key itself."""
    send_action("key revoke", {"id": key_id, "reason": reason}, as_json=as_json)


def _cash_group(verb: str, summary: str) -> click.Group:
    """Two operators each time, and one reference for one slip of the bank."""
    group = click.Group(verb, help=summary)

    @group.command("ask", help=f"Request a {verb}, as the first of two operators: 100.98 USD for an account.")
    @click.argument("account")
    @click.argument("amount")
    @click.argument("currency", type=click.Choice(list(CURRENCIES)))
    @_reference
    @house_option
    @click.option("--reason", default="", help="For the operator who confirms it. Without it: the bank's reference.")
    @as_json_option
    def ask(
        *, account: str, amount: str, currency: str, reference: str, house: str, reason: str, as_json: bool
    ) -> None:
        params = {"account": account, "amount": amount, "currency": currency, "reference": reference, "house": house}
        params["reason"] = reason or f"bank reference {reference}"
        send_action(f"{verb} ask", params, as_json=as_json)

    @group.command("confirm", help=f"Confirm a {verb} as the second operator: the money moves.")
    @_reference
    @as_json_option
    def confirm(*, reference: str, as_json: bool) -> None:
        send_action(f"{verb} confirm", {"reference": reference}, as_json=as_json)

    return group


deposit_group = _cash_group("deposit", "Money that enters through the bank.")
withdraw_group = _cash_group("withdraw", "Money that leaves through the bank.")


@click.group("audit")
def audit_group() -> None:
    """Whether the books are right, and money that was stopped because they were not."""


@audit_group.command("run")
@as_json_option
@click.pass_context
def audit_run(context: click.Context, *, as_json: bool) -> None:
    """Check every rule now, in the running server. If the money does not add up, it stops. Exit 1: a rule is broken."""
    if send_action("audit run", {}, as_json=as_json)["violations"]:
        context.exit(1)


@audit_group.command("lift")
@click.option("--reason", required=True, help="What was wrong and how it was put right; kept in the audit entry.")
@as_json_option
def audit_lift(*, reason: str, as_json: bool) -> None:
    """Let money move again after a stop. Refused while a full check finds a broken rule."""
    send_action("audit lift", {"reason": reason}, as_json=as_json)


def send_action(
    act: str,
    params: dict[str, Any],
    *,
    as_json: bool,
    show: Callable[[dict[str, Any]], None] | None = None,
    sink: IO[bytes] | None = None,
) -> dict[str, Any]:
    """Ask the service, and tell what was done: fact by fact, or as `show` does. What follows goes to the sink."""
    settings = read_settings()
    reply = _sent(settings, act, params, sink)
    if as_json:
        click.echo(msgspec.json.encode(reply).decode())
    if reply.code in _TROUBLE:
        message = f"{reply.code}: {reply.detail}"
        raise Stopped(message)
    if reply.done is None:
        raise Declined(reply.code, " ".join(filter(None, (reply.detail, _WHAT_NOW.get(reply.code)))))
    if not as_json:
        if show is not None:
            show(reply.done)
        elif act in _DONE:  # What is not there, its own file prints.
            print_done(_DONE[act], reply.done)
    return reply.done


def _sent(settings: Settings, act: str, params: dict[str, Any], sink: IO[bytes] | None = None) -> OperatorReply:
    if act == "operator create" and not has_operators(settings):
        reply = control_client.send(settings, OperatorRequest(act, params))
        if reply.code != "credentials_needed":
            return reply
        # Another operator was faster, or the server has its database elsewhere.
    elif settings.shared_socket is None and running_server.found(settings) is None and not has_begun(settings):
        setting = "QIRSH_DATA_DIR" if isinstance(settings.database, Path) else "QIRSH_DATABASE_URL"
        message = f"there is no database at {shown(settings)}: is {setting} right?"
        raise Stopped(message)
    by = ask_credentials()
    return control_client.send(settings, OperatorRequest(act, params, by.email, by.password, by.code), sink)


def has_operators(settings: Settings) -> bool:
    """Asked of the database, or of the server by who may only use its socket."""
    if settings.shared_socket is None:
        return operators(settings) > 0
    return control_client.send(settings, OperatorRequest("operator list", {})).code != "no_operator"


def print_done(params: str, done: dict[str, Any]) -> None:
    """What was done, and its facts."""
    click.echo(params)
    width = max(map(len, done))
    for name, value in done.items():
        click.echo(f"  {name:<{width}}  {' '.join(value) if isinstance(value, list) else value}")
