"""What an operator has changed of a proposal: as its audit entry keeps it, and as it is read there again."""

import re
from typing import Final

import msgspec

from qirsh.domain.commands.proposal import ProposedCommand
from qirsh.domain.money import format_amount, parse_amount
from qirsh.domain.proposal import Proposal

_TOLD: Final = frozenset({"reference", "roles"})  # An entry stays for ever: of names and addresses it has no values.
_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_CHANGE: Final = re.compile(rf"(\w+) (?:({_TEXT}) -> ({_TEXT})|changed)")
_CHANGES: Final = re.compile(rf"{_CHANGE.pattern}(?:, {_CHANGE.pattern})*")


class Change(msgspec.Struct, frozen=True):
    """Of one field. Both values are None where they are not kept."""

    field: str
    before: str | None = None
    after: str | None = None


def sum_of(command: ProposedCommand) -> str:
    """The money that it would move, `250.00 USD`; empty where it moves none."""
    amount, currency = getattr(command, "amount", None), getattr(command, "currency", "")
    return f"{format_amount(amount, currency)} {currency}" if isinstance(amount, int) and currency else ""


def read_sum(told: str) -> tuple[int, str]:
    """The inverse, of one that moves some."""
    digits, _, currency = told.partition(" ")
    amount = parse_amount(digits, currency)
    assert amount is not None, "an entry that nobody has typed"
    return amount, currency


def changes_between(
    before: Proposal, after: Proposal, *, held: ProposedCommand, wanted: ProposedCommand
) -> tuple[Change, ...]:
    """What differs; `held` and `wanted` are the commands of the two."""
    found = []
    if sum_of(held) != sum_of(wanted):
        found.append(Change("amount", sum_of(held), sum_of(wanted)))
    for name in wanted.__struct_fields__:
        old, new = getattr(held, name), getattr(wanted, name)
        if old != new and name not in {"amount", "currency"}:
            found.append(Change(name, old, new) if name in _TOLD else Change(name))
    if before.reason != after.reason:
        found.append(Change("reason", before.reason, after.reason))
    return tuple(found)


def written_changes(changes: tuple[Change, ...]) -> str:
    """For people and for `read_changes`: values stand in quotes, so that none of them looks like another change."""
    return ", ".join(_written(change) for change in changes) or "nothing"


def read_changes(told: str) -> tuple[Change, ...]:
    """The inverse; empty where it is none of ours."""
    if _CHANGES.fullmatch(told) is None:
        return ()
    return tuple(Change(field, _read(old), _read(new)) for field, old, new in _CHANGE.findall(told))


def _written(change: Change) -> str:
    if change.before is None or change.after is None:
        return f"{change.field} changed"
    return f"{change.field} {_quoted(change.before)} -> {_quoted(change.after)}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _read(quoted: str) -> str | None:
    return msgspec.json.decode(quoted, type=str) if quoted else None
