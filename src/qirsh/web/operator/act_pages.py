"""What an operator does about one person, account or payment: a small page for each act, with its reason."""

from collections.abc import Callable, Coroutine
from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route
from qirsh.web.operator.action import ActionRefused, Params, number_in
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.own_interest import Part, part_in_account, part_in_refund, part_in_shop


class Subject(msgspec.Struct, frozen=True):
    """What an act is about: its name for the page's heading, and what keeps this operator from deciding on it."""

    name: str
    part: Part = ""


# It is not there: `not_found`.
SubjectOf = Callable[[ConsolePage], Coroutine[None, None, Subject]]


class Act(msgspec.Struct, frozen=True):
    """An act and its page, below the page of what it is about."""

    action: str
    path: str
    subject: SubjectOf
    fields: tuple[str, ...] = ("reason",)
    shaped: Callable[[Params], Params] = lambda form: form


def act_routes(act: Act) -> tuple[Route, ...]:
    """The page of its form, and the form."""
    needs = tuple(name for name in act.fields if name == "reason")

    async def show(page: ConsolePage) -> Response:
        return await _page(page, act, {}, None)

    async def again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
        return await _page(page, act, params, refused)

    def done(page: ConsolePage, result: Params) -> str:
        asked = str(result.get("id", ""))
        return f"/operator/proposals/{asked}" if asked.startswith("pr_") else address_of(page)

    return (
        console_page("GET", act.path, show, right=ACTIONS[act.action].right),
        console_form(act.path, act.action, act.fields, again=again, done=done, shaped=act.shaped, needs=needs),
    )


def address_of(page: ConsolePage) -> str:
    """The page of what an act is about: the first two parts of its own address."""
    return "/".join(page.request.path.split("/")[:4])


async def _page(page: ConsolePage, act: Act, typed: Params, refused: ActionRefused | None) -> Response:
    subject = await act.subject(page)
    return page.render(
        "operator/act.html",
        status=200 if refused is None else refused_status(refused),
        action=act.action,
        address=page.request.path,
        bound=tuple(page.request.arguments.values()),
        back=address_of(page),
        subject=subject.name,
        part=subject.part,
        fields=act.fields,
        characters_max={
            "reason": limits.NOTE_CHARACTERS_MAX,
            "text": limits.OPERATOR_NOTE_CHARACTERS_MAX,
            "amount": 20,
        },
        typed=typed,
        faults=field_faults(page, refused),
    )


async def _account(page: ConsolePage) -> Subject:
    number = number_in(page.request.arguments["account"])
    account = None if number is None else await page.context.store.find(Tables.accounts, number)
    if account is None or account.mode != "live" or account.kind == "house":
        raise Problem("not_found")
    return Subject(account.name, await part_in_account(page, account))


async def _person(page: ConsolePage) -> Subject:
    number = number_in(page.request.arguments["person"])
    person = None if number is None else await page.context.store.find(Tables.people, number)
    if person is None or person.erased_at is not None:
        raise Problem("not_found")
    return Subject(person.name, "own" if person.id == page.operator.person else "")


async def _anybody(page: ConsolePage) -> Subject:
    """Also whom it is about may stop it."""
    return Subject((await _person(page)).name)


async def _key(page: ConsolePage) -> Subject:
    await _account(page)
    key = await page.context.store.find(Tables.api_keys, page.request.arguments["id"])
    owner = None if key is None else await page.context.store.find(Tables.accounts, key.account)
    if key is None or owner is None:
        raise Problem("not_found")
    if page.request.arguments["account"] not in {str(owner.number), str(owner.live_account)}:
        raise Problem("not_found")
    return Subject(f"{key.name} …{key.hint}")


async def _payment(page: ConsolePage) -> Subject:
    payment = await _found_payment(page)
    return Subject(page.request.arguments["payment"], await part_in_shop(page, payment))


async def _refund(page: ConsolePage) -> Subject:
    payment = await _found_payment(page)
    return Subject(page.request.arguments["payment"], await part_in_refund(page, payment))


async def _found_payment(page: ConsolePage) -> Payment:
    number = page.context.identifiers.payment_number(page.request.arguments["payment"])
    payment = None if number is None else await page.context.store.find(Tables.payments, number)
    if payment is None:
        raise Problem("not_found")
    return payment


def _note_about(name: str) -> Callable[[Params], Params]:
    """The part of the address is what a note is about."""

    def shaped(form: Params) -> Params:
        return {**form, "about": name, "id": form[name]}

    return shaped


ACTS: Final = (
    *(Act(f"account {what}", f"/accounts/{{account}}/{what}", _account) for what in ("suspend", "resume", "close")),
    Act("key revoke", "/accounts/{account}/keys/{id}/revoke", _key),
    *(
        Act(f"access {what}", f"/people/{{person}}/{what}", _person)
        for what in ("sign-out", "block", "unblock", "remove-factors", "reset-pin")
    ),
    Act("access keep", "/people/{person}/keep", _anybody),
    Act("operator remove-factors", "/people/{person}/remove-operator-factors", _person),
    Act("refund ask", "/payments/{payment}/refund", _refund, fields=("amount", "reason")),
    *(
        Act("note add", path, subject, fields=("text",), shaped=_note_about(name))
        for name, path, subject in (
            ("account", "/accounts/{account}/note", _account),
            ("person", "/people/{person}/note", _person),
            ("payment", "/payments/{payment}/note", _payment),
        )
    ),
)
ACT_ROUTES: Final = tuple(route for act in ACTS for route in act_routes(act))
