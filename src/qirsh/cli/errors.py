"""How a command ends other than well: 1 is a no, 2 is that nothing could be asked or told.

3 is that a copy was made, and some of its rows break a rule.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import click

_NAMED_MAX: Final = 20


class Stopped(click.ClickException):
    """The command could not run: a wrong setting, an unusable database, nobody to ask. Nothing was done."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """One line."""
        click.echo(f"qirsh: {self.message}", file=file, err=True)


class Declined(click.ClickException):
    """The service said no. The code is stable; the words are for people."""

    exit_code = 1

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")

    def show(self, file: IO[Any] | None = None) -> None:
        """One line."""
        click.echo(f"refused: {self.message}", file=file, err=True)


class BrokenRules(click.ClickException):
    """A copy was made and can be used, and some of its rows break a rule."""

    exit_code = 3

    def __init__(self, where: str, count: int, sentences: Sequence[str], *, advice: str) -> None:
        super().__init__(f"{count:,} {'row' if count == 1 else 'rows'} of {where} break a rule:")
        self._named = sentences[:_NAMED_MAX]
        self._others = count - len(self._named)
        self._advice = advice

    def show(self, file: IO[Any] | None = None) -> None:
        """The first rows in a line each, and what to do."""
        lines = [f"qirsh: {self.message}", *(f"  {sentence}" for sentence in self._named)]
        if self._others:
            lines.append(f"  and {self._others:,} more: `qirsh verify` names all of them")
        click.echo("\n".join([*lines, self._advice]), file=file, err=True)


def another_user(path: Path) -> Stopped:
    """A file that only who serves may use."""
    return Stopped(f"{path} belongs to another user: run this as the user who serves")
