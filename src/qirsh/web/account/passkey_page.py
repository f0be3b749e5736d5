"""A person's passkeys: listed, made and removed.

The password is asked for before the browser is: a passkey that we would refuse must not be made on a device.
"""

import hashlib
import unicodedata
from typing import Final

import msgspec

from qirsh.domain.commands.login_credentials import AddPasskey, RemovePasskey
from qirsh.domain.limits import NAME_CHARACTERS_MAX, PASSKEYS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.reads.people import PASSKEYS_OF_PERSON
from qirsh.web.auth import passkeys
from qirsh.web.html.cookies import ADDING, set_cookie
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.html.reauthentication import PROOF, SECURITY, is_proved, keeper_of, letter_to
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, problem_of

_LIST: Final = f"{SECURITY}/passkeys"
_NEW: Final = f"{_LIST}/new"
_ADDING_MS: Final = 5 * 60_000


class Adding(msgspec.Struct, frozen=True):
    """Somebody has proved who they are, and makes a passkey next."""

    session: bytes
    name: str
    until: int


class Own(msgspec.Struct, frozen=True):
    """A passkey, as its owner sees it."""

    id: str  # A hash: the passkey's own id is too long for an address.
    key: bytes
    name: str
    created_at: int


@signed_in
async def show_passkeys(visit: Visit) -> Response:
    """The list, and the first step to one more."""
    return await _page(visit)


@signed_in
async def prepare_passkey(visit: Visit) -> Response:
    """The proof, and the name of the new one."""
    form = visit.form("passkeys", *PROOF, "name")
    keeper = await keeper_of(visit)
    name = " ".join(unicodedata.normalize("NFC", form["name"]).split())
    fault = ""
    if not (0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable()):
        message = _("Give the passkey a name by which you know the device, with at most %(most)s characters.")
        fault = text(visit.request.language, message, most=NAME_CHARACTERS_MAX)
    if fault or not await _can_add(visit):
        return await _page(visit, status=422, name=form["name"], fault=fault)
    if not await is_proved(visit, keeper, form):
        return await _page(visit, status=422, name=form["name"], is_wrong=True)
    adding = Adding(visit.session, name, visit.parts.clock() + _ADDING_MS)
    return see_other(_NEW, [keep(visit.parts, ADDING, adding)])


@signed_in
async def show_new_passkey(visit: Visit) -> Response:
    """The browser is asked to make it."""
    adding = _adding(visit)
    return see_other(_LIST) if adding is None else await _new_page(visit, adding)


@signed_in
async def add_passkey(visit: Visit) -> Response:
    """What the browser has made is kept."""
    form = visit.form("passkey-new", "passkey")
    adding, parts = _adding(visit), visit.parts
    if adding is None:
        return visit.go(_LIST, "passkey.late")
    if not passkeys.can_be_used(parts):
        return see_other(_LIST)
    made = passkeys.new_passkey(parts, passkeys.adding(visit.session.hex(), visit.person), form["passkey"])
    if made is None:
        return await _new_page(visit, adding, status=422, has_failed=True)
    outcome = await parts.engine.submit(
        AddPasskey(
            id=made.id,
            person=visit.person,
            public_key=made.public_key,
            sign_count=made.sign_count,
            name=adding.name,
            letters=letter_to(visit, await keeper_of(visit), "passkey_added", name=adding.name),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:  # Another tab was quicker.
            return see_other(_LIST)
        if outcome.why is not Refusal.PASSKEY_NOT_VALID:
            raise problem_of(outcome)
        return await _new_page(visit, adding, status=422, has_failed=True)
    added = visit.go(_LIST, "passkey.added")
    added.headers.append(set_cookie(parts, ADDING, ""))
    return added


@signed_in
async def show_remove_passkey(visit: Visit) -> Response:
    """The form."""
    return await _remove_page(visit, await _named(visit))


@signed_in
async def remove_passkey(visit: Visit) -> Response:
    """It signs nobody in any more."""
    own = await _named(visit)
    form = visit.form("passkey-remove", *PROOF, bound=(own.id,))
    keeper = await keeper_of(visit)
    if not await is_proved(visit, keeper, form):
        return await _remove_page(visit, own, status=422, is_wrong=True)
    letters = letter_to(visit, keeper, "passkey_removed", name=own.name)
    outcome = await visit.parts.engine.submit(RemovePasskey(own.key, visit.person, letters))
    if type(outcome) is Refused:
        raise problem_of(outcome)
    return visit.go(_LIST, "passkey.removed")


async def _own(visit: Visit) -> list[Own]:
    rows = await visit.parts.store.select(PASSKEYS_OF_PERSON, visit.person)
    return [Own(hashlib.sha256(key).hexdigest()[:16], key, name, created_at) for key, name, created_at in rows]


async def _named(visit: Visit) -> Own:
    for own in await _own(visit):
        if own.id == visit.request.arguments["id"]:
            return own
    raise Problem("not_found")


async def _can_add(visit: Visit) -> bool:
    return passkeys.can_be_used(visit.parts) and len(await _own(visit)) < PASSKEYS_MAX


def _adding(visit: Visit) -> Adding | None:
    """What was proved in this session, a few minutes ago at most."""
    adding = kept(visit.parts, visit.request, ADDING, Adding)
    is_good = adding is not None and adding.session == visit.session and adding.until > visit.parts.clock()
    return adding if is_good else None


async def _page(
    visit: Visit, *, status: int = 200, name: str = "", fault: str = "", is_wrong: bool = False
) -> Response:
    own = await _own(visit)
    return visit.page(
        "account/passkeys.html",
        status=status,
        said=visit.said,
        passkeys=own,
        has_factor=(await keeper_of(visit)).has_factor,
        can_be_used=passkeys.can_be_used(visit.parts),
        is_full=len(own) >= PASSKEYS_MAX,
        name=name,
        fault=fault,
        is_wrong=is_wrong,
    )


async def _new_page(visit: Visit, adding: Adding, *, status: int = 200, has_failed: bool = False) -> Response:
    keeper = await keeper_of(visit)
    options = passkeys.creation_options(
        visit.parts,
        passkeys.adding(visit.session.hex(), visit.person),
        person=visit.person,
        email=keeper.login.email,
        name=keeper.person.name,
        known=[own.key for own in await _own(visit)],
    )
    return visit.page(
        "account/passkey_new.html", status=status, name=adding.name, options=options, has_failed=has_failed
    )


async def _remove_page(visit: Visit, own: Own, *, status: int = 200, is_wrong: bool = False) -> Response:
    keeper = await keeper_of(visit)
    return visit.page(
        "account/passkey_remove.html", status=status, passkey=own, has_factor=keeper.has_factor, is_wrong=is_wrong
    )
