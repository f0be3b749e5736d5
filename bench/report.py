"""How the tables and targets of a bench look, on the screen and on the page. Nothing is measured here."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from bench.machine import Machine


class Table(msgspec.Struct, frozen=True):
    """RowSet under columns; a column's name may have two lines."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Check(msgspec.Struct, frozen=True):
    """One target, and whether it was met."""

    is_met: bool
    text: str

    def __str__(self) -> str:
        """With its mark in front."""
        return f"{mark(is_met=self.is_met)} {self.text}"


class Report(msgspec.Struct, frozen=True):
    """What one bench has to say."""

    title: str
    tables: Sequence[Table]
    legend: str
    checks: Sequence[Check]  # The targets that no single row of a table can show.
    method: str


def mark(*, is_met: bool) -> str:
    """Beside whatever has a target."""
    return "✓" if is_met else "✗"


def show(report: Report, console: Console) -> None:
    """Tables and targets, on the screen."""
    for table in report.tables:
        grid = Grid(title=table.title, title_justify="left", box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
        for number, column in enumerate(table.columns):
            grid.add_column(column, justify="right" if number else "left", no_wrap=number == 0)
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid)
    console.print(f"{report.legend}\n", highlight=False, soft_wrap=True)
    for check in report.checks:
        console.print(str(check), style="" if check.is_met else "bold red", highlight=False, soft_wrap=True)


def page(report: Report, machine: Machine, *, command: str = "make bench") -> str:
    """A page of the documentation, whole."""
    parts = [
        f"# {report.title}",
        f"Measured by `{command}` on {datetime.now(UTC):%Y-%m-%d}, which writes this page.",
        f"Machine: {machine}.",
    ]
    for table in report.tables:
        lines = [
            tuple(column.replace("\n", " ") for column in table.columns),
            ("---", *("---:" for _ in table.columns[1:])),
            *table.rows,
        ]
        title = table.title[:1].upper() + table.title[1:]
        parts += [f"## {title}", "\n".join(f"| {' | '.join(line)} |" for line in lines)]
    parts += [report.legend, "## Other targets", "\n".join(f"- {check}" for check in report.checks)]
    parts += ["## How it is measured", report.method]
    return "\n\n".join(parts) + "\n"
