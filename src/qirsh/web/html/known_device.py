"""Devices on which a person has signed in before: a sealed cookie by which their tries are told from strangers' tries.

It opens nothing. It is bound to the person's session generation, so that a new password, or signing out everywhere,
makes strangers of all devices.
"""

from typing import Final

import msgspec

from qirsh.domain.limits import KNOWN_DEVICE_PEOPLE_MAX, KNOWN_DEVICE_S
from qirsh.domain.person import normal_email
from qirsh.domain.tables import Tables
from qirsh.web.html.cookies import KNOWN_DEVICE
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request

_ID_BYTES: Final = 16


class Known(msgspec.Struct, frozen=True):
    """A person who has signed in with the device."""

    person: int
    session_generation: int
    until: int


class Device(msgspec.Struct, frozen=True):
    """What its browser keeps. The id is random: each device has its own tries."""

    id: str
    people: list[Known]


async def known_device(context: Context, request: Request, email: str) -> str:
    """Under which name the tries of this browser at an e-mail address are counted; empty for a stranger's."""
    device = kept(context, request, KNOWN_DEVICE, Device)
    address = normal_email(email)
    if device is None or address is None:
        return ""
    login = await context.store.find(Tables.logins, address)
    if login is None or not await is_known_device(context, request, login.person):
        return ""
    return f"device {device.id} of person {login.person}"


async def is_known_device(context: Context, request: Request, person: int) -> bool:
    """Whether this person has signed in with this browser before, and nothing has ended that."""
    device = kept(context, request, KNOWN_DEVICE, Device)
    for known in device.people if device is not None else ():
        if known.person == person and known.until > context.clock():
            found = await context.store.find(Tables.people, person)
            return found is not None and found.session_generation == known.session_generation
    return False


def remember_device(context: Context, request: Request, person: int, session_generation: int) -> tuple[bytes, bytes]:
    """The header by which this browser is known to be a person's, beside the others who use it."""
    before = kept(context, request, KNOWN_DEVICE, Device) or Device(context.entropy(_ID_BYTES).hex(), [])
    others = [known for known in before.people if known.person != person]
    now = Known(person, session_generation, context.clock() + KNOWN_DEVICE_S * 1000)
    device = Device(before.id, [now, *others][:KNOWN_DEVICE_PEOPLE_MAX])
    return keep(context, KNOWN_DEVICE, device, keep_s=KNOWN_DEVICE_S)
