"""`qirsh verify`: every invariant and the hash chain, on one snapshot, while a server may write."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
import msgspec
from rich.console import Console

from qirsh.doctor.database_probe import shown
from qirsh.settings import Settings, read_settings
from qirsh.store.integrity import hash_chain
from qirsh.store.integrity.invariant import Invariant
from qirsh.store.interface import CannotTell
from qirsh.store.verify import verify

_BAD: Final = 1
_UNKNOWN: Final = 2


class _Head(click.ParamType[hash_chain.Head]):
    """As the log tells it."""

    name = "NUMBER:HASH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> hash_chain.Head:  # noqa: ANN401 - as click has it
        """The number, and the bytes of the hash."""
        if not re.fullmatch(r"[0-9]{1,18}:[0-9a-f]{64}", value):
            self.fail("is not like 17:9f86d0..., a number and 64 hexadecimal digits", param, ctx)
        number, _, digits = value.partition(":")
        return int(number), bytes.fromhex(digits)


@click.command("verify")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one line of JSON.")
@click.option(
    "--head",
    type=_Head(),
    help="A head of the chain of seals, NUMBER:HASH, from the log or a backup: is it still there?",
)
@click.pass_context
def verify_command(context: click.Context, *, as_json: bool, head: hash_chain.Head | None) -> None:
    """Check every rule that must hold of the money. Exit 0: all hold; 1: some do not; 2: cannot tell."""
    settings = read_settings()
    checked: list[str] = []
    hosts: list[str] = []
    with _progress() as show:

        def progress(invariant: Invariant) -> None:
            checked.append(invariant.name)
            show(invariant.name)

        try:
            violations = verify(settings.database, progress, head, hosts.append)
        except CannotTell as error:
            if as_json:
                _print_verdict("unknown", settings, {"cause": str(error)})
            click.echo(f"qirsh: cannot tell: {error}", err=True)
            context.exit(_UNKNOWN)
    host = next(filter(None, hosts), "")
    place = f"{shown(settings)} ({host})" if host else shown(settings)
    if as_json:
        verdict = "bad" if violations else "good"
        more = {"host": host} if host else {}
        _print_verdict(verdict, settings, more | {"checked": len(checked), "violations": violations})
    elif violations:
        for violation in violations:
            click.echo(f"{violation.name}: {violation.sentence}")
        click.echo(f"qirsh: {len(violations)} rows of {place} break a rule", err=True)
    else:
        click.echo(f"All {len(checked)} rules hold of {place}")
    if violations:
        context.exit(_BAD)


def _print_verdict(verdict: str, settings: Settings, more: dict[str, Any]) -> None:
    answer = {"verdict": verdict, "database": shown(settings)} | more
    click.echo(msgspec.json.encode(answer).decode())


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """On a terminal, the rule that is being checked: a large database takes a while."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _name: None
        return
    with console.status("") as status:
        yield lambda name: status.update(f"Checking that {name}")
