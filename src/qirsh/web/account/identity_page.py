"""A person says and shows who they are, and hears what an operator has decided."""

from datetime import UTC, date, datetime
from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.identity import DOCUMENTS, SIDES, Identity, Side
from qirsh.domain.limits import (
    FORM_BYTES_MAX,
    NAME_CHARACTERS_MAX,
    PICTURE_BYTES_MAX,
    PICTURE_EDGE_MIN,
    PICTURE_SIDE_PIXELS_MAX,
    REFERENCE_CHARACTERS_MAX,
)
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.engine.identity_facts import Facts, document_macs, seal_facts, seal_picture, unseal_facts
from qirsh.language.identity_reasons import identity_reason
from qirsh.language.local_time import local_day
from qirsh.web.documents.picture import PictureTooLarge, clean_picture
from qirsh.web.html.input_text import has_direction_controls, one_line
from qirsh.web.html.multipart import File, read_multipart
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.waiting_payment import find_waiting_payment
from qirsh.web.http.message import Response, problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem, to_problem

BODY_BYTES_MAX: Final = len(SIDES) * PICTURE_BYTES_MAX + 2 * FORM_BYTES_MAX
_ADDRESS: Final = "/wallet/identity"
_YEARS_MIN: Final = 18
_YEARS_MAX: Final = 120
_EMPTY: Final = Facts("", "", "", "", "")
_TEXTS: Final = Facts.__struct_fields__
_TROUBLES: Final = frozenset({"body_too_large", "overloaded", "request_timeout"})  # That the form has words for.


@signed_in
async def show_identity(page: PageContext) -> Response:
    """How far it has come, and the form while there is something to send."""
    account, identity = await _found(page)
    return await _page(page, account, identity, written=_sent_before(page, account, identity), errors={})


@signed_in
async def show_identity_again(page: PageContext) -> Response:
    """The form, when the connection did not take the pictures: what else was written did not arrive either."""
    account, identity = await _found(page)
    problem = page.request.refused
    assert problem is not None
    if problem.code not in _TROUBLES or not _may_send(account, identity):
        raise problem
    written = _sent_before(page, account, identity)
    return await _page(page, account, identity, written=written, errors={}, problem=problem)


@signed_in
async def submit_identity(page: PageContext) -> Response:
    """What was written and shown goes to the operators, once. A second tab finds that it is there."""
    sent = read_multipart(page.context, page.request, ("token", *_TEXTS), SIDES)
    page.csrf.check(sent.texts.pop("token"), "identity")
    account, identity = await _found(page)
    if not _may_send(account, identity):
        return page.redirect(_ADDRESS)
    written, errors = _read(sent.texts, _today(page))
    try:
        pictures, wrong_pictures = await _pictures(page.person, sent.files)
    except Problem as problem:  # Too many are being worked on.
        again = dict.fromkeys(sent.files, "again")
        return await _page(page, account, identity, written=written, errors=errors | again, problem=problem)
    errors |= wrong_pictures
    if errors:
        # Browsers never fill in a file again, also one with which nothing was wrong.
        errors |= dict.fromkeys(pictures, "again")
        return await _page(page, account, identity, written=written, errors=errors)
    keyring, person = page.context.keyring, page.person
    images = tuple((side, seal_picture(keyring, picture, person, side)) for side, picture in pictures.items())
    mac = document_macs(keyring, written)[0]
    command = SubmitIdentity(person, account.number, seal_facts(keyring, written, person), images, mac)
    outcome = await page.context.engine.submit(command)
    # Another tab, or an operator, may have been faster: the page says how it is now.
    if type(outcome) is Refused and outcome.why is not Refusal.MOVE_NOT_ALLOWED:
        raise to_problem(outcome)
    return page.redirect(_ADDRESS)


async def _page(
    page: PageContext,
    account: Account,
    identity: Identity | None,
    *,
    written: Facts,
    errors: dict[str, str],
    problem: Problem | None = None,
) -> Response:
    state = identity.state if identity is not None else "unverified"
    status = 422 if errors else 200
    response = page.render(
        "account/identity.html",
        status=status if problem is None else PROBLEM_TYPES[problem.code].status,
        trouble=problem.code if problem is not None else "",
        state=account.state if account.state != "unverified" else state,
        reason="" if identity is None else identity_reason(page.request.language, identity.because, identity.reason),
        submitted_at=identity.submitted_at if identity is not None else 0,
        waiting=await find_waiting_payment(page, account, identity),
        written=written,
        errors=errors,
        documents=DOCUMENTS,
        picture_bytes=PICTURE_BYTES_MAX,
        picture_side=PICTURE_SIDE_PIXELS_MAX,
        name_characters=NAME_CHARACTERS_MAX,
        number_characters=REFERENCE_CHARACTERS_MAX,
    )
    if problem is not None:
        response.headers += problem_headers(problem)
    return response


async def _found(page: PageContext) -> tuple[Account, Identity | None]:
    account = await page.context.store.find(Tables.accounts, page.user.account)
    assert account is not None, "a session without its account"
    return account, await page.context.store.find(Tables.identities, page.person)


def _sent_before(page: PageContext, account: Account, identity: Identity | None) -> Facts:
    """What stands in the form at first: what was rejected, to be corrected."""
    if identity is None or not _may_send(account, identity):
        return _EMPTY
    return unseal_facts(page.context.keyring, identity.facts_sealed, page.person) or _EMPTY


def _may_send(account: Account, identity: Identity | None) -> bool:
    return account.state == "unverified" and (identity is None or identity.state == "rejected")


def _read(texts: dict[str, str], today: date) -> tuple[Facts, dict[str, str]]:
    """As it was written, and what is wrong with it."""
    names = ("given_names", "family_name")
    lines = {name: one_line(texts[name], NAME_CHARACTERS_MAX) for name in names}
    lines["document_number"] = one_line(texts["document_number"], REFERENCE_CHARACTERS_MAX)
    errors = {
        name: "direction" if has_direction_controls(texts[name]) else name for name, line in lines.items() if not line
    }
    if texts["document"] not in DOCUMENTS:
        errors["document"] = "document"
    if wrong := _why_not_born(texts["birth_date"], today):
        errors["birth_date"] = wrong
    kept = {name: line for name, line in lines.items() if line is not None}
    return msgspec.convert({**texts, **kept}, Facts), errors


def _why_not_born(text: str, today: date) -> str:
    try:
        born = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        return "birth_date"
    if born > today:
        return "future"
    years = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
    if years > _YEARS_MAX:
        return "birth_date"
    return "" if years >= _YEARS_MIN else "too_young"


async def _pictures(person: int, files: dict[str, File]) -> tuple[dict[Side, bytes], dict[str, str]]:
    """Copies that hold nothing but what can be seen, and what is wrong with those that were sent."""
    pictures: dict[Side, bytes] = {}
    errors: dict[str, str] = {}
    for side in SIDES:
        file = files.get(side)
        if file is None:
            if side == "front":
                errors[side] = "no_picture"
            continue
        try:
            picture = await clean_picture(file.data, person=person, edge_min=PICTURE_EDGE_MIN)
        except PictureTooLarge:
            errors[side] = "too_large" if len(file.data) > PICTURE_BYTES_MAX else "too_many_pixels"
            continue
        if picture is None:
            errors[side] = "picture"
        else:
            pictures[side] = picture
    return pictures, errors


def _today(page: PageContext) -> date:
    return local_day(page.context.clock(), page.context.time_zone)
