"""The page that shows a person how their account is kept, and the sessions that they can end there."""

from typing import Final

import msgspec

from qirsh.domain.commands.session import CloseSession, CloseSessions
from qirsh.domain.limits import LIST_ITEMS_MAX, PASSKEYS_MAX
from qirsh.domain.person import attempts_left
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import PASSKEYS_OF_PERSON, SESSIONS_OF_PERSON
from qirsh.web.account.device_name import browser_and_system
from qirsh.web.account.second_factor import codes_left
from qirsh.web.html.cookies import SESSION, set_cookie
from qirsh.web.html.page_context import SIGN_IN, Visit, signed_in
from qirsh.web.html.reauthentication import SECURITY, Keeper, keeper_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem

_ID_CHARACTERS: Final = 16


class Device(msgspec.Struct, frozen=True):
    """A session, as its owner sees it."""

    id: str  # The start of the hash: enough to tell a person's own sessions apart, and no use to sign in.
    browser: str
    system: str
    created_at: int
    is_this: bool


@signed_in
async def show_security(visit: Visit) -> Response:
    """All of it at a glance, each with the way to change it."""
    keeper = await keeper_of(visit)
    pin = await visit.parts.store.find(Tables.pins, visit.person)
    return visit.page(
        "account/security.html",
        email=keeper.login.email,
        said=visit.said,
        pin="none" if pin is None else "set" if attempts_left(pin) else "locked",
        has_factor=keeper.has_factor,
        is_operator=keeper.is_operator,
        codes_left=codes_left(keeper.login),
        passkeys=len(await visit.parts.store.select(PASSKEYS_OF_PERSON, visit.person)),
        passkeys_max=PASSKEYS_MAX,
        devices=[device for _, device in await _devices(visit, keeper)],
    )


@signed_in
async def sign_out_everywhere(visit: Visit) -> Response:
    """Every session ends, in pages and apps, this one too. It takes no password: nobody gains a thing by it."""
    visit.form("sessions")
    await visit.parts.engine.submit(CloseSessions(visit.person, f"person {visit.person}"))
    await visit.parts.callers.poll()  # This process need not wait until it would look.
    left = visit.go(SIGN_IN, "sign-in.everywhere")
    left.headers.append(set_cookie(visit.parts, SESSION, ""))
    return left


@signed_in
async def end_session(visit: Visit) -> Response:
    """One of their own ends."""
    named = visit.request.arguments["id"]
    visit.form("session", bound=(named,))
    for hashed, device in await _devices(visit, await keeper_of(visit)):
        if device.id == named:
            await visit.parts.engine.submit(CloseSession(hashed, f"person {visit.person}"))
            await visit.parts.callers.poll()
            if not device.is_this:
                return visit.go(SECURITY, "session.ended")
            left = visit.go(SIGN_IN, "sign-in.left")
            left.headers.append(set_cookie(visit.parts, SESSION, ""))
            return left
    raise Problem("not_found")


async def _devices(visit: Visit, keeper: Keeper) -> list[tuple[bytes, Device]]:
    rows = await visit.parts.store.select(
        SESSIONS_OF_PERSON, visit.person, keeper.person.era, visit.parts.clock(), LIST_ITEMS_MAX
    )
    return [
        (
            bytes(hashed),
            Device(
                bytes(hashed).hex()[:_ID_CHARACTERS], *browser_and_system(agent), created_at, hashed == visit.session
            ),
        )
        for hashed, created_at, agent in rows
    ]
