"""What an entry of the activity log says of staff: about whom, which roles, and what a cashier may refund."""

import re
from typing import Final

import msgspec

from qirsh.domain.money import format_amount
from qirsh.domain.staff import ROLES, read_caps

_PERSON: Final = re.compile(r"person (\d+)")
_CAPS: Final = re.compile(r"[A-Z]{3}:\d+( [A-Z]{3}:\d+)*")


class StaffDetail(msgspec.Struct, frozen=True):
    """As the rules for staff have written it: `person 3, viewer to cashier, USD:5000`."""

    person: int = 0
    invitation: str = ""
    roles: tuple[str, ...] = ()  # The one before, if it was changed, and the one now.
    caps: tuple[tuple[str, int], ...] = ()


def read_staff_detail(action: str, detail: str) -> StaffDetail | None:
    """None: it is about something else, or nobody here has written it."""
    if not action.startswith("staff.") or not detail:
        return None
    found = StaffDetail()
    for part in detail.split(", "):
        roles = tuple(part.split(" to "))
        if person := _PERSON.fullmatch(part):
            found = msgspec.structs.replace(found, person=int(person[1]))
        elif part.startswith("inv_"):
            found = msgspec.structs.replace(found, invitation=part)
        elif _CAPS.fullmatch(part):
            found = msgspec.structs.replace(found, caps=tuple(read_caps(part).items()))
        elif set(roles) <= set(ROLES):
            found = msgspec.structs.replace(found, roles=roles)
        else:
            return None
    return found


def plain_detail(staff: StaffDetail, whom: str) -> str:
    """For a file: `Leila: cashier to developer`."""
    caps = ", ".join(f"{format_amount(amount, currency)} {currency}" for currency, amount in staff.caps)
    told = ", ".join(part for part in (" to ".join(staff.roles), caps) if part)
    return ": ".join(part for part in (whom, told) if part)
