"""`qirsh demo`: a service with people, money and a past, ready to be tried, that keeps its own folder."""

import logging
import shlex
import shutil
import signal
import sys
from importlib import resources
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import msgspec
from rich.console import Console
from rich.text import Text

from qirsh.cli import running_server
from qirsh.cli.demo.build import prepared
from qirsh.cli.demo.changed_credentials import note_changed_credentials
from qirsh.cli.demo.credentials_file import Demo, Player, keep_demo
from qirsh.cli.demo.desk import bank_file
from qirsh.cli.demo.seed import SHOP, add_payment_to_try, forget_decided_request
from qirsh.cli.demo.webhooks import (
    PAGE,
    learn_rotated_secret,
    make_inbox,
    name_endpoints,
    own_address,
    place_endpoints,
)
from qirsh.cli.errors import Stopped
from qirsh.cli.log import log_to_stderr
from qirsh.cli.private_file import write_private
from qirsh.cli.serve.command import (
    addresses,
    check_port,
    raise_descriptor_limit,
    run_until_signal,
    serve_and_announce,
)
from qirsh.doctor.database_probe import shown
from qirsh.domain.tables import Tables
from qirsh.service import opened, opened_tracer
from qirsh.setting_values import is_loopback, networks
from qirsh.settings import Settings, read_settings
from qirsh.tracing.spans import Tracer
from qirsh.web.http.client_address import Networks
from qirsh.web.http.context import Context
from qirsh.web.http.site import Site, contact
from qirsh.web.site.information_files import read_information_files

_OPERATOR: Final = "Demo Payments"
_SUPPORT: Final = "support@demo.example"
_FROM: Final = "Qirsh <qirsh@demo.example>"
_PROOFS: Final = {"password": "password", "pin": "PIN", "totp_secret": "authenticator key"}
# A developer's receiver is on this machine, and so are the demo's own.
_OWN_MACHINE: Final = networks("127.0.0.0/8,::1")
# Pasted as it stands into any sh. What it prints last holds "status":"paid".
_CURL: Final = """\
# 1. The shop's server asks for 100.98 USD.
PAYMENT=$(curl -sS {base_url}/api/v1/remote-payments \\
  -H 'Authorization: Bearer {api_key}' -H 'Content-Type: application/json' \\
  -d '{{"amount":10098,"currency":"USD","note":"Order 1061"}}' | sed -n 's/.*"id":"\\([0-9]*\\)".*/\\1/p')
# 2. The customer signs in,
TOKEN=$(curl -sS {base_url}/api/v1/wallet/sessions -H 'Content-Type: application/json' \\
  -d '{{"email":"{email}","password":"{password}"}}' | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
# 3. and pays with the PIN.
curl -sS {base_url}/api/v1/wallet/remote-payments/$PAYMENT/pay \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{{"pin":"{pin}"}}'; echo
# 4. The shop's server sees that it is paid.
curl -sS {base_url}/api/v1/remote-payments/$PAYMENT -H 'Authorization: Bearer {api_key}'; echo"""


@click.command("demo")
@click.option("--port", type=click.IntRange(0, 65535), help="Instead of QIRSH_PORT; 0 takes any free one.")
@click.option("--force", is_flag=True, help="Listen on an address that others can reach.")
def demo_command(port: int | None, *, force: bool) -> None:
    """Start a service to try, with people, money and a week of payments."""
    settings = msgspec.structs.replace(read_settings(), workers=1)  # The demo is one process.
    if port is not None:
        settings = msgspec.structs.replace(settings, port=port)
    if not force and not is_loopback(f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}"):
        message = (
            f"QIRSH_HOST: {settings.host} can be reached by others, and the demo shows every mail and code to whoever"
            " asks: unset it, or start `qirsh demo --force`"
        )
        raise Stopped(message)
    if not settings.webhook_networks:
        settings = msgspec.structs.replace(settings, webhook_networks=_own_networks(settings.host))
    if port is not None or is_loopback(settings.base_url):
        # A shell that has the variables of another demo must not lead people there; but a name for this machine stays,
        # since browsers know passkeys of `localhost` only.
        name = urlsplit(settings.base_url).hostname if is_loopback(settings.base_url) else settings.host
        host = f"[{name}]" if name and ":" in name else name
        settings = msgspec.structs.replace(settings, base_url=f"http://{host}:{settings.port}")
    log_to_stderr(
        logging.WARNING, is_json=settings.is_log_json
    )  # What is to be said of a good start stands on the screen.
    raise_descriptor_limit()
    # A terminal that closes is a wish to end well, like Ctrl-C.
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    run_until_signal(_run(settings))


async def _run(settings: Settings) -> None:
    # Said before a week of payments is made. Who serves from this folder already is told of below.
    if running_server.found(settings) is None:
        check_port(settings)
    async with opened_tracer(settings) as tracer:
        await _serve_demo(settings, await prepared(settings), tracer)


async def _serve_demo(settings: Settings, demo: Demo, tracer: Tracer | None) -> None:
    async with opened(settings, tracer=tracer) as context:
        # Every demo has the same people; the number of a shop is its own.
        login = await context.store.find(Tables.logins, demo.operator.email)
        if login is None or await context.store.find(Tables.accounts, int(demo.shop_account or 0)) is None:
            message = f"{settings.demo_file} is of another database: move one of them away, or use another folder"
            raise Stopped(message)
        await add_payment_to_try(context, demo)
        await forget_decided_request(context, demo)
        await note_changed_credentials(context, demo)
        name_endpoints(context, demo)
        await learn_rotated_secret(context, demo)
        keep_demo(settings, demo)
        write_private(_bank_file(settings), await bank_file(context))
        await serve_and_announce(
            settings,
            msgspec.structs.replace(_introduced(_keeping_mail(context)), demo_inbox=make_inbox(demo)),
            lambda base_url: _show(settings, demo, base_url),
            prepare=lambda address: place_endpoints(context, demo, own_address(address)),
        )


def _own_networks(host: str) -> Networks:
    """Of this machine: loopback, and the address that the demo is told to listen on."""
    found = [ip_address(address) for _, address in addresses(host)]
    return (*_OWN_MACHINE, *(ip_network(one) for one in found if not (one.is_loopback or one.is_unspecified)))


def _keeping_mail(context: Context) -> Context:
    """Without a server for it no mail leaves, and the demo's user reads what would have been sent."""
    if context.has_mail:
        return context
    return msgspec.structs.replace(context, has_mail=True, keeps_mail=True, mail_from=context.mail_from or _FROM)


def _introduced(context: Context) -> Context:
    """With texts of an operator's, unless there is one who has said something."""
    if context.site != Site():
        return context
    with resources.as_file(resources.files("qirsh.cli.demo").joinpath("pages")) as folder:
        site = Site(_OPERATOR, contact(_SUPPORT), read_information_files(folder))
    return msgspec.structs.replace(context, site=site)


def _show(settings: Settings, demo: Demo, base_url: str) -> None:
    """Colour on a terminal, plain lines elsewhere; lines are never broken, so that they can be copied."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text.assemble("Qirsh demo on ", (base_url, "bold green"), ". Ctrl-C ends it; its data stays."))
    for title, lines in _sections(settings, demo, base_url).items():
        console.print(Text(f"\n{title}", style="bold"))
        width = max(map(len, lines))
        for name, value in lines.items():
            console.print(Text(f"  {name:<{width}}  {value}"))
    customer = next((one for one in (demo.customer, demo.customer2) if not one.changed), None)
    if customer is None:
        click.echo("\nThe credentials of both customers were changed, so there is nothing to paste into a shell.\n")
        return
    console.print(Text("\nA payment from beginning to end, to paste into a shell:\n", style="bold"))
    curl = _CURL.format(
        base_url=base_url,
        api_key=demo.api_key,
        email=customer.email,
        password=customer.password,
        pin=customer.pin,
    )
    click.echo(f"{curl}\n")


def _sections(settings: Settings, demo: Demo, base_url: str) -> dict[str, dict[str, str]]:
    program = "qirsh" if shutil.which("qirsh") else shlex.quote(sys.argv[0])
    data_dir = shlex.quote(str(settings.data_dir))
    environment = f'set -a; eval "$(QIRSH_DATA_DIR={data_dir} {program} status --env)"; set +a'
    return {
        "Addresses": {
            "Operator console": f"{base_url}/operator",
            "API": f"{base_url}/api/v1",
            "Reference": f"{base_url}/docs",
            "Health": f"{base_url}/healthz  {base_url}/readyz",
            **({"Mail": f"{base_url}/demo/mail"} if settings.smtp is None else {}),
            "Webhooks": f"{base_url}{PAGE}",
            "Data": f"{settings.data_dir}",
            **({} if isinstance(settings.database, Path) else {"Database": shown(settings)}),
            "All below as variables": environment,
        },
        f"Shop {SHOP}, account {demo.shop_account}": {
            "Live key": demo.api_key,
            "Test key": demo.test_api_key,
            "Owner": _proof(demo.merchant),
        },
        "Customers, each with more than 1,000,000.00 of every currency": {
            "Customer": _proof(demo.customer),
            "Customer 2": _proof(demo.customer2),
        },
        "A newcomer, whose identity waits to be checked": {"Newcomer": _proof(demo.customer3)},
        f"Operators, who sign in at {base_url}/operator with e-mail, password and a code": {
            "Operator": _proof(demo.operator),
            "Operator 2": _proof(demo.operator2),
            "Support only": _proof(demo.operator3),
            "A code without an app": _code_command(demo.operator),
        },
        "To try": {
            "A payment that waits": f"{base_url}/pay/{demo.payment} (75.50 USD)",
            "A bank file to import": str(_bank_file(settings)),
            **({"A shop that waits": _shop_address(base_url, demo)} if demo.requested_account else {}),
        },
    }


def _shop_address(base_url: str, demo: Demo) -> str:
    return f"{base_url}/operator/businesses/{demo.requested_account} (sign in as Operator first)"


def _code_command(operator: Player) -> str:
    """What an authenticator app would show, for who has none at hand; the key may be that of another operator."""
    key = "KEY" if "totp_secret" in operator.changed else operator.totp_secret
    return f"{shlex.quote(sys.executable)} -c 'import pyotp; print(pyotp.TOTP(\"{key}\").now())'"


def _bank_file(settings: Settings) -> Path:
    return settings.data_dir / "bank.csv"


def _proof(player: Player) -> str:
    """What the person has changed is known to them alone."""
    kept = {name: "changed since" if name in player.changed else getattr(player, name) for name in _PROOFS}
    address = f"{player.email} (changed since)" if "email" in player.changed else player.email
    return "  ".join([address, *(f"{_PROOFS[name]} {value}" for name, value in kept.items() if value)])
