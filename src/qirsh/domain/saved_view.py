"""What somebody of the staff looks for often among the payments of a business: filters under a name."""

from collections.abc import Iterator
from typing import Final

import msgspec

from qirsh.domain.account import Mode
from qirsh.domain.limits import SAVED_VIEWS_MAX

MODES: Final[tuple[Mode, ...]] = ("live", "test")
ViewKey = tuple[int, int, Mode, int]


class SavedView(msgspec.Struct, frozen=True):
    """One person's own, at the live account of a business or at its test account."""

    account: int  # The live one.
    person: int
    mode: Mode
    place: int  # From 1. There are only so many, so a rule can lock all of a person without knowing them.
    id: str
    name: str  # No two of a person at one account have the same.
    query: str  # As the page writes it in its address.
    created_at: int


def view_keys(account: int, person: int, *modes: Mode) -> Iterator[ViewKey]:
    """All places where a person can have one at a business."""
    return ((account, person, mode, place) for mode in modes for place in range(1, SAVED_VIEWS_MAX + 1))
