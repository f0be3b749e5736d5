"""How a command ends other than well: 1 is a no, 2 is that nothing could be asked or told.

3 is a copy of rows that break a rule (`backup/broken_rules.py`).
"""

from pathlib import Path
from typing import IO, Any

import click


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


def another_user(path: Path) -> Stopped:
    """A file that only who serves may use."""
    return Stopped(f"{path} belongs to another user: run this as the user who serves")
