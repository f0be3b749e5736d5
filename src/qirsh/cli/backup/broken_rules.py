"""The words and the exit code of a copy whose rows break a rule. The copy can be used all the same."""

from collections.abc import Sequence

import click

EXIT_CODE = 3  # It was done, and what was copied breaks a rule.


def tell_broken_rules(where: str, count: int, first: Sequence[str], *, advice: str) -> None:
    """To standard error, with what to do."""
    click.echo(f"qirsh: {count:,} {'row' if count == 1 else 'rows'} of {where} break a rule:", err=True)
    for sentence in first:
        click.echo(f"  {sentence}", err=True)
    if count > len(first):
        click.echo(f"  and {count - len(first):,} more: `qirsh verify` names all of them", err=True)
    click.echo(advice, err=True)
