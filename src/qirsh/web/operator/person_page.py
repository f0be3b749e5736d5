"""A person as operators see them: state, money, devices, businesses, and what was done about them. Never a secret."""

from typing import Any, Final

from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.note import note_subject
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.person import Person, pin_trouble
from qirsh.domain.tables import Tables
from qirsh.store.reads import people, queries
from qirsh.store.reads.pending_resets import waiting_resets
from qirsh.store.reads.staff import jobs_of
from qirsh.web.html.page_query import read_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import number_in
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.record_parts import LISTED, audit_entries, notes, transactions, waits


async def show_person(page: ConsolePage) -> Response:
    """All of them. Who was erased has no name and no way to sign in; the money stays in the books."""
    person = await _found(page)
    asked = read_query(page.request, "after", "entries")
    store, address = page.context.store, f"/operator/people/{person.id}"
    account = await store.find(Tables.accounts, person.account)
    assert account is not None, "a person without an account"
    about, of_account = note_subject("person", person.id), f"account {person.account}"
    operator = await store.find(Tables.operators, person.id)
    found = await store.select(people.BUSINESSES_OF, person.id, limits.LIST_ITEMS_DEFAULT)
    return page.render(
        "operator/person.html",
        address=address,
        person=person,
        account=account,
        balances=await store.select(queries.AVAILABLE_BALANCES, person.account),
        identity=await store.find(Tables.identities, person.id),
        businesses=[Account(*row[:-1]) for row in found],
        jobs=await jobs_of(store, person.id),
        payouts=[Payout(*row) for row in await store.select(queries.PAYOUTS_OF, person.account, LISTED)],
        waiting=await waits(page, about, of_account),
        notes=await notes(page, "person", person.id),
        resets=await waiting_resets(store, person.id),
        is_operator=operator is not None and operator.ended_at is None,
        **await _access(page, person),
        **await transactions(page, person.account, asked["after"], address),
        **await audit_entries(page, (about, of_account), asked["entries"], address),
    )


async def _access(page: ConsolePage, person: Person) -> dict[str, Any]:
    """How they sign in: what there is of it, and nothing that would let anybody in."""
    store, now = page.context.store, page.context.clock()
    rows: list[tuple[Any, ...]] = await store.select(people.EMAIL_OF, person.id)
    login = await store.find(Tables.logins, rows[0][0]) if rows else None
    sessions = await store.select(
        people.SESSIONS_OF_PERSON, person.id, person.session_generation, now, limits.LIST_ITEMS_DEFAULT
    )
    return {
        "email": login.email if login is not None and page.may("see_contacts") else "",
        "has_factor": login is not None and login.totp_sealed is not None,
        "pin_trouble": pin_trouble(await store.find(Tables.pins, person.id)),
        "passkeys": [
            (name, created_at) for _, name, created_at in await store.select(people.PASSKEYS_OF_PERSON, person.id)
        ],
        "sessions": [(agent, created_at) for _, created_at, agent in sessions],
    }


async def _found(page: ConsolePage) -> Person:
    number = number_in(page.request.arguments["person"])
    person = None if number is None else await page.context.store.find(Tables.people, number)
    if person is None:
        raise Problem("not_found")
    return person


PERSON_ROUTES: Final = (console_page("GET", "/people/{person}", show_person, right=OperatorRight.LOOK),)
