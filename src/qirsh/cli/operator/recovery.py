"""`qirsh operator recover`, for when nobody can sign in any more, and what admins have read of it."""

from pathlib import Path
from typing import Any, Final

import click
import uvloop

from qirsh.cli import running_server
from qirsh.cli.errors import Declined, Stopped
from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.cli.operator.credentials import new_secret
from qirsh.cli.operator.operators import operator_group
from qirsh.cli.operator.people import print_table
from qirsh.cli.operator.proposals import show_asked
from qirsh.doctor.database_probe import has_begun, shown
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from qirsh.store.interface import DatabaseInUse
from qirsh.web.operator.action import ActionRefused
from qirsh.web.operator.peer import own_user, user_name
from qirsh.web.operator.recovery import recover_operator

_DONE: Final = (
    "Recovered: an admin, with this password and this authenticator key, which is shown only once. Every page of the"
    " operator console tells of it until an admin has marked it as read."
)
_RUNS: Final = (
    "the service runs: stop it first. While it runs, another admin can propose `qirsh operator remove-factors`"
)


@operator_group.command("recover")
@click.option("--email", required=True, help="Of an operator who has not ended.")
@click.option("--password-stdin", is_flag=True, help="Read the new password from standard input.")
def operator_recover(*, email: str, password_stdin: bool) -> None:
    """Let an operator in again, from this machine, when nobody can sign in any more. The service must be stopped.

    They get a new password and authenticator key, lose their passkeys, and are an admin. All operators are told.
    """
    settings = read_settings()
    if settings.shared_socket is not None:
        message = "run this as the user who serves: it works on the data itself, and not by QIRSH_CONTROL_SOCKET"
        raise Stopped(message)
    if running_server.found(settings) is not None:
        raise Stopped(_RUNS)
    if not has_begun(settings):
        setting = "QIRSH_DATA_DIR" if isinstance(settings.database, Path) else "QIRSH_DATABASE_URL"
        message = f"there is no database at {shown(settings)}: is {setting} right?"
        raise Stopped(message)
    password = new_secret("password", from_stdin=password_stdin)
    try:
        done = uvloop.run(_recovered(settings, {"email": email, "password": password}))
    except DatabaseInUse:
        raise Stopped(_RUNS) from None
    except ActionRefused as refused:
        raise Declined(refused.code, refused.detail) from None
    print_done(_DONE, done)


async def _recovered(settings: Settings, params: dict[str, Any]) -> dict[str, Any]:
    async with opened(settings) as context:
        return await recover_operator(context, params, await user_name(own_user()))


@operator_group.command("remove-factors")
@click.argument("email")
@click.option("--reason", required=True, help="How you know that it is them; kept in the audit entry.")
@as_json_option
def operator_remove_factors(*, email: str, reason: str, as_json: bool) -> None:
    """Propose to remove the second factors of an operator who has lost them, which another admin confirms."""
    send_action("operator remove-factors", {"email": email, "reason": reason}, as_json=as_json, show=show_asked)


@click.group("recovery")
def recovery_group() -> None:
    """Operators who were let in again by `qirsh operator recover`."""


@recovery_group.command("list")
@as_json_option
def recovery_list(*, as_json: bool) -> None:
    """List those that no admin has read."""
    send_action("recovery list", {}, as_json=as_json, show=lambda done: print_table(done["items"]))


@recovery_group.command("read")
@click.argument("recovery")
@as_json_option
def recovery_read(*, recovery: str, as_json: bool) -> None:
    """Mark one as read: pages of the console tell of it no longer."""
    send_action("recovery read", {"id": recovery}, as_json=as_json, show=lambda done: print_done("Read.", done))
