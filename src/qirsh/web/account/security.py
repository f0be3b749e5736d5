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
from qirsh.web.html.page_context import SIGN_IN, PageContext, signed_in
from qirsh.web.html.reauthentication import SECURITY, AccountHolder, account_holder_of
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
async def show_security(page: PageContext) -> Response:
    """All of it at a glance, each with the way to change it."""
    holder = await account_holder_of(page)
    pin = await page.context.store.find(Tables.pins, page.person)
    return page.render(
        "account/security.html",
        email=holder.login.email,
        flash=page.flash,
        pin="none" if pin is None else "set" if attempts_left(pin) else "locked",
        has_factor=holder.has_factor,
        is_operator=holder.is_operator,
        codes_left=codes_left(holder.login),
        passkeys=len(await page.context.store.select(PASSKEYS_OF_PERSON, page.person)),
        passkeys_max=PASSKEYS_MAX,
        devices=[device for _, device in await _devices(page, holder)],
    )


@signed_in
async def sign_out_everywhere(page: PageContext) -> Response:
    """Every session ends, in pages and apps, this one too. It takes no password: nobody gains a thing by it."""
    page.form("sessions")
    await page.context.engine.submit(CloseSessions(page.person, f"person {page.person}"))
    await page.context.callers.poll()  # This process need not wait until it would look.
    left = page.redirect(SIGN_IN, "sign-in.everywhere")
    left.headers.append(set_cookie(page.context, SESSION, ""))
    return left


@signed_in
async def end_session(page: PageContext) -> Response:
    """One of their own ends."""
    named = page.request.arguments["id"]
    page.form("session", bound=(named,))
    for hashed, device in await _devices(page, await account_holder_of(page)):
        if device.id == named:
            await page.context.engine.submit(CloseSession(hashed, f"person {page.person}"))
            await page.context.callers.poll()
            if not device.is_this:
                return page.redirect(SECURITY, "session.ended")
            left = page.redirect(SIGN_IN, "sign-in.left")
            left.headers.append(set_cookie(page.context, SESSION, ""))
            return left
    raise Problem("not_found")


async def _devices(page: PageContext, holder: AccountHolder) -> list[tuple[bytes, Device]]:
    rows = await page.context.store.select(
        SESSIONS_OF_PERSON, page.person, holder.person.session_generation, page.context.clock(), LIST_ITEMS_MAX
    )
    return [
        (
            bytes(hashed),
            Device(
                bytes(hashed).hex()[:_ID_CHARACTERS],
                *browser_and_system(agent),
                created_at,
                hashed == page.session.hash,
            ),
        )
        for hashed, created_at, agent in rows
    ]
