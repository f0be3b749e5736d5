"""A person's passkeys: listed, made and removed.

The password is asked for before the browser is: a passkey that we would refuse must not be made on a device.
"""

import hashlib
import unicodedata
from typing import Final

import msgspec

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import AddPasskey, RemovePasskey
from qirsh.domain.limits import NAME_CHARACTERS_MAX, PASSKEYS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.reads.people import PASSKEYS_OF_PERSON
from qirsh.web.auth import passkeys
from qirsh.web.html.cookies import PENDING_PASSKEY, set_cookie
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    SECURITY,
    account_holder_of,
    is_reauthenticated,
    mail_to_holder,
)
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_LIST: Final = f"{SECURITY}/passkeys"
_NEW: Final = f"{_LIST}/new"
_ADDING_MS: Final = 5 * 60_000


class Adding(msgspec.Struct, frozen=True):
    """A person has proved who they are, and makes a passkey next."""

    session: bytes
    name: str
    until: int
    proof: str  # Random: it is good for one passkey.


class Own(msgspec.Struct, frozen=True):
    """A passkey, as its owner sees it."""

    id: str  # A hash: the passkey's own id is too long for an address.
    key: bytes
    name: str
    created_at: int


@signed_in
async def show_passkeys(page: PageContext) -> Response:
    """The list, and the first step to one more."""
    return await _page(page)


@signed_in
async def prepare_passkey(page: PageContext) -> Response:
    """The proof, and the name of the new one."""
    form = page.form("passkeys", *REAUTH_FIELDS, "name")
    holder = await account_holder_of(page)
    name = " ".join(unicodedata.normalize("NFC", form["name"]).split())
    fault = ""
    if not (0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable()):
        message = _("Enter a name by which you recognise the device, with at most %(most)s characters.")
        fault = text(page.request.language, message, most=NAME_CHARACTERS_MAX)
    if fault or not await _can_add(page):
        return await _page(page, status=422, name=form["name"], fault=fault)
    if not await is_reauthenticated(page, holder, form):
        return await _page(page, status=422, name=form["name"], is_wrong=True)
    adding = Adding(page.session.hash, name, page.context.clock() + _ADDING_MS, page.context.entropy(16).hex())
    return see_other(_NEW, [keep(page.context, PENDING_PASSKEY, adding)])


@signed_in
async def show_new_passkey(page: PageContext) -> Response:
    """The browser is asked to make it."""
    adding = _adding(page)
    return see_other(_LIST) if adding is None else await _new_page(page, adding)


@signed_in
async def add_passkey(page: PageContext) -> Response:
    """What the browser has made is kept."""
    form = page.form("passkey-new", "passkey")
    adding, context = _adding(page), page.context
    if adding is None:
        return page.redirect(_LIST, "passkey.late")
    if not passkeys.can_be_used(context):
        return see_other(_LIST)
    made = passkeys.new_passkey(context, _purpose(page, adding), form["passkey"])
    if made is None:
        return await _new_page(page, adding, status=422, has_failed=True)
    outcome = await context.engine.submit(
        AddPasskey(
            id=made.id,
            person=page.person,
            public_key=made.public_key,
            sign_count=made.sign_count,
            name=adding.name,
            letters=mail_to_holder(page, await account_holder_of(page), "passkey_added", name=adding.name),
            challenge=token_hash(adding.proof.encode()),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:  # Another tab was quicker.
            return see_other(_LIST)
        if outcome.why is Refusal.CODE_NOT_VALID:  # One was added with this proof already.
            return page.redirect(_LIST, "passkey.late")
        if outcome.why is not Refusal.PASSKEY_NOT_VALID:
            raise to_problem(outcome)
        return await _new_page(page, adding, status=422, has_failed=True)
    added = page.redirect(_LIST, "passkey.added")
    added.headers.append(set_cookie(context, PENDING_PASSKEY, ""))
    return added


@signed_in
async def show_remove_passkey(page: PageContext) -> Response:
    """The form."""
    return await _remove_page(page, await _named(page))


@signed_in
async def remove_passkey(page: PageContext) -> Response:
    """It signs nobody in any more."""
    own = await _named(page)
    form = page.form("passkey-remove", *REAUTH_FIELDS, bound=(own.id,))
    holder = await account_holder_of(page)
    if not await is_reauthenticated(page, holder, form):
        return await _remove_page(page, own, status=422, is_wrong=True)
    letters = mail_to_holder(page, holder, "passkey_removed", name=own.name)
    outcome = await page.context.engine.submit(RemovePasskey(own.key, page.person, letters))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(_LIST, "passkey.removed")


async def _own(page: PageContext) -> list[Own]:
    rows = await page.context.store.select(PASSKEYS_OF_PERSON, page.person)
    return [Own(hashlib.sha256(key).hexdigest()[:16], key, name, created_at) for key, name, created_at in rows]


async def _named(page: PageContext) -> Own:
    for own in await _own(page):
        if own.id == page.request.arguments["id"]:
            return own
    raise Problem("not_found")


async def _can_add(page: PageContext) -> bool:
    return passkeys.can_be_used(page.context) and len(await _own(page)) < PASSKEYS_MAX


def _adding(page: PageContext) -> Adding | None:
    """What was proved in this session, a few minutes ago at most."""
    adding = kept(page.context, page.request, PENDING_PASSKEY, Adding)
    is_good = adding is not None and adding.session == page.session.hash and adding.until > page.context.clock()
    return adding if is_good else None


def _purpose(page: PageContext, adding: Adding) -> passkeys.Purpose:
    return passkeys.adding(page.session.hash.hex(), page.person, adding.proof)


async def _page(
    page: PageContext, *, status: int = 200, name: str = "", fault: str = "", is_wrong: bool = False
) -> Response:
    own = await _own(page)
    return page.render(
        "account/passkeys.html",
        status=status,
        flash=page.flash,
        passkeys=own,
        has_factor=(await account_holder_of(page)).has_factor,
        can_be_used=passkeys.can_be_used(page.context),
        is_full=len(own) >= PASSKEYS_MAX,
        name=name,
        fault=fault,
        is_wrong=is_wrong,
    )


async def _new_page(page: PageContext, adding: Adding, *, status: int = 200, has_failed: bool = False) -> Response:
    holder = await account_holder_of(page)
    options = passkeys.creation_options(
        page.context,
        _purpose(page, adding),
        person=page.person,
        email=holder.login.email,
        name=holder.person.name,
        known=[own.key for own in await _own(page)],
    )
    return page.render(
        "account/passkey_new.html", status=status, name=adding.name, options=options, has_failed=has_failed
    )


async def _remove_page(page: PageContext, own: Own, *, status: int = 200, is_wrong: bool = False) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "account/passkey_remove.html", status=status, passkey=own, has_factor=holder.has_factor, is_wrong=is_wrong
    )
