"""docs/operators.md says what the code does: who may do what, and what takes two."""

import re
from pathlib import Path
from typing import Final

from qirsh.domain.operator_role import ROLES, OperatorRight, may
from qirsh.domain.proposal import PROPOSAL_MS
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.web.operator.actions import ACTIONS

PAGE: Final = (Path(__file__).parents[1] / "docs/operators.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, its head first."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    assert len(rows) > 2, heading
    return [rows[0], *rows[2:]]


def test_the_table_of_roles_is_the_one_that_is_asked() -> None:
    head, *rows = table("Roles")
    assert head == ["Right", "For", *ROLES]
    shown = {row[0]: row[2:] for row in rows}
    assert len(shown) == len(rows)
    assert shown == {f"`{right}`": ["yes" if may(role, right) else "-" for role in ROLES] for right in OperatorRight}
    assert all(row[1] for row in rows)


def test_every_command_stands_beside_the_right_that_it_takes() -> None:
    _, *rows = table("Commands")
    shown = {name: right.strip("`") for right, names in rows for name in re.findall("`qirsh ([^`]+)`", names)}
    assert shown == {name: str(action.right) for name, action in ACTIONS.items()}


def test_every_proposal_stands_there_with_its_two_rights_and_how_it_is_asked_for() -> None:
    _, *rows = table("What takes two")
    shown = {name.strip("`"): (ask.strip("`"), confirm.strip("`")) for name, _, ask, confirm in rows}
    assert shown == {kind.__name__: (str(rule.ask), str(rule.confirm)) for kind, rule in PROPOSED.items()}
    for _, acts, ask, _ in rows:
        for act in re.findall("`([^`]+)`", acts):
            assert f"`{ACTIONS[act].right}`" == ask


def test_the_time_after_which_a_proposal_lapses_is_told() -> None:
    assert PROPOSAL_MS == 7 * 24 * 3_600_000
    assert "After seven days nobody can confirm it any more" in PAGE
