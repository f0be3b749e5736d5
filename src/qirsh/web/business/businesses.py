"""The businesses of a person: what became of each, and the form with which a verified person asks for one."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.batch import Answer
from qirsh.domain.business import KINDS
from qirsh.domain.commands.account import RequestCommercial
from qirsh.domain.limits import BUSINESSES_MAX, NAME_CHARACTERS_MAX, REFERENCE_CHARACTERS_MAX, URL_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.reads import people as people_queries
from qirsh.store.reads.shop_messages import unread_by_owner
from qirsh.store.reads.staff import invitations_to, jobs_of
from qirsh.web.business.name_field import read_business_name
from qirsh.web.business.once_form import new_nonce, once_form, once_key
from qirsh.web.business.website_origins import read_origins
from qirsh.web.html.input_text import one_line
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import account_holder_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_ADDRESS: Final = "/business"
_FIELDS: Final = ("name", "kind", "registration", "origins")


class BusinessRequest(msgspec.Struct, frozen=True):
    """What a form asks for, after a look at it."""

    name: str
    kind: str
    registration: str
    origins: str


@signed_in
async def show_businesses(page: PageContext) -> Response:
    """All of them, and the form for another; a person who is not verified reads what to do first."""
    return await _page(page, dict.fromkeys(_FIELDS, ""), {})


@signed_in
async def request_business(page: PageContext) -> Response:
    """A new commercial account, which an operator decides on."""
    typed = once_form(page, "business", *_FIELDS)
    wanted, errors = _read(typed)
    if errors:
        return await _page(page, typed, errors, status=422)
    # The browser may send one form twice: the second is answered like the first.
    key = once_key(page, page.user.account, "business", typed["nonce"], msgspec.json.encode(wanted))
    outcome = await page.context.engine.submit_and_render(
        RequestCommercial(
            personal=page.user.account,
            name=wanted.name,
            return_origins=wanted.origins,
            actor=f"person {page.person}",
            kind=wanted.kind,
            registration=wanted.registration,
        ),
        _answer,
        idempotency_key=key,
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:  # The page says so by itself.
            return await _page(page, typed, {}, status=422)
        raise to_problem(outcome)
    return page.redirect(_ADDRESS, "business.requested")


def _answer(account: Account, _work: UnitOfWork) -> Answer:
    return Answer(201, str(account.number).encode())


async def _page(page: PageContext, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    personal = await page.context.store.find(Tables.accounts, page.user.account)
    assert personal is not None, "a session without its account"
    obstacle = why_not_in_order(personal)
    rows = await page.context.store.select(people_queries.BUSINESSES_OF, page.person, 10 * BUSINESSES_MAX)
    holder = await account_holder_of(page)
    return page.render(
        "business/businesses.html",
        status=status,
        jobs=await jobs_of(page.context.store, page.person),
        invitations=await invitations_to(page.context.store, holder.login.email, page.context.clock()),
        businesses=[(Account(*row[:-1]), row[-1]) for row in rows],
        messages={row[0]: await unread_by_owner(page.context.store, row[0]) for row in rows},
        obstacle=obstacle.value if obstacle else "too_many" if len(rows) >= BUSINESSES_MAX else "",
        kinds=KINDS,
        typed=typed,
        errors=errors,
        nonce=new_nonce(page),
        word=page.flash_about("business"),
        name_characters=NAME_CHARACTERS_MAX,
        registration_characters=REFERENCE_CHARACTERS_MAX,
        origins_characters=URL_CHARACTERS_MAX,
    )


def _read(typed: dict[str, str]) -> tuple[BusinessRequest, dict[str, str]]:
    name, fault = read_business_name(typed["name"])
    registration = one_line(typed["registration"], REFERENCE_CHARACTERS_MAX)
    errors = {"name": fault} if fault else {}
    if not registration:
        errors["registration"] = "registration"
    if typed["kind"] not in KINDS:
        errors["kind"] = "kind"
    origins = read_origins(typed["origins"])
    if origins is None:
        errors["origins"] = "origins"
    return BusinessRequest(name, typed["kind"], registration or "", origins or ""), errors
