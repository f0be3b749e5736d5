"""The page that shows a person how their account is kept, and the sessions that they can end from there.

Ending takes a new proof: whoever finds a browser open signs nobody else out.
"""

from typing import Final

import msgspec

from qirsh.domain.commands.access import KeepSecret
from qirsh.domain.commands.session import CloseSession, CloseSessions
from qirsh.domain.limits import LIST_ITEMS_MAX, PASSKEYS_MAX
from qirsh.domain.pending_reset import WHATS
from qirsh.domain.person import attempts_left
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.pending_resets import waiting_resets
from qirsh.store.reads.people import PASSKEYS_OF_PERSON, SESSIONS_OF_PERSON
from qirsh.web.auth.device_name import browser_and_system
from qirsh.web.auth.recovery_codes import codes_left
from qirsh.web.html.page_context import SIGN_IN, PageContext, signed_in
from qirsh.web.html.page_query import unreadable
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    SECURITY,
    AccountHolder,
    account_holder_of,
    is_reauthenticated,
)
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
        resets=await waiting_resets(page.context.store, page.person),
    )


@signed_in
async def keep_secret(page: PageContext) -> Response:
    """What support was asked to remove stays. It takes no new proof: nobody loses anything by it."""
    form = page.form("keep", "what")
    named = [one for one in WHATS if one == form["what"]]
    if not named:
        raise unreadable("what")
    actor = f"person {page.person}"
    outcome = await page.context.engine.submit(KeepSecret(page.person, named[0], actor))
    if type(outcome) is Refused:  # It is done, or there never was any: the page says how it is now.
        return page.redirect(SECURITY)
    return page.redirect(SECURITY, "reset.kept")


@signed_in
async def show_sign_out_everywhere(page: PageContext) -> Response:
    """What it means, and the proof that it takes."""
    return _everywhere_page(page, await account_holder_of(page))


@signed_in
async def sign_out_everywhere(page: PageContext) -> Response:
    """Every session ends, in pages and apps, this one too."""
    form = page.form("sessions", *REAUTH_FIELDS)
    holder = await account_holder_of(page)
    if not await is_reauthenticated(page, holder, form):
        return _everywhere_page(page, holder, status=422, is_wrong=True)
    await page.context.engine.submit(CloseSessions(page.person, f"person {page.person}"))
    await page.context.callers.poll()  # This process need not wait until it would look.
    left = page.redirect(SIGN_IN, "sign-in.everywhere")
    left.headers += page.session.forget()
    return left


@signed_in
async def show_end_session(page: PageContext) -> Response:
    """Which device it is, and the proof that it takes."""
    holder = await account_holder_of(page)
    _, device = await _named(page, holder)
    return _end_page(page, holder, device)


@signed_in
async def end_session(page: PageContext) -> Response:
    """One of their own ends."""
    form = page.form("session", *REAUTH_FIELDS, bound=(page.request.arguments["id"],))
    holder = await account_holder_of(page)
    hashed, device = await _named(page, holder)
    if not await is_reauthenticated(page, holder, form):
        return _end_page(page, holder, device, status=422, is_wrong=True)
    await page.context.engine.submit(CloseSession(hashed, f"person {page.person}"))
    await page.context.callers.poll()
    if not device.is_this:
        return page.redirect(SECURITY, "session.ended")
    left = page.redirect(SIGN_IN, "sign-in.left")
    left.headers += page.session.forget()
    return left


def _everywhere_page(
    page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False
) -> Response:
    return page.render("account/sessions_end.html", status=status, has_factor=holder.has_factor, is_wrong=is_wrong)


def _end_page(
    page: PageContext, holder: AccountHolder, device: Device, *, status: int = 200, is_wrong: bool = False
) -> Response:
    return page.render(
        "account/session_end.html", status=status, device=device, has_factor=holder.has_factor, is_wrong=is_wrong
    )


async def _named(page: PageContext, holder: AccountHolder) -> tuple[bytes, Device]:
    for hashed, device in await _devices(page, holder):
        if device.id == page.request.arguments["id"]:
            return hashed, device
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
