"""Who has a part in something is told so in place of a form that would be refused."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.staff import AcceptInvitation
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from tests.live import ORIGIN, PIN, InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.colleague import new_invitation
from tests.web.operator.console import ConsoleGuest, console, operator_with
from tests.web.tenant import login_of, set_pin

OWN: Final = "This concerns you, or a business that you own or work for."


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


def personal(world: InProcess, operator: int = 0) -> str:
    """The account of an operator, verified by the other one."""
    person = world.run(world.context.store.find(Tables.people, login_of(world, world.operators[operator].email).person))
    assert person is not None
    world.act("account verify", 1 - operator, account=str(person.account))
    return str(person.account)


def assert_told(guest: ConsoleGuest, other: ConsoleGuest, path: str, *forms: str) -> None:
    """Why not, and no form; another operator finds the forms there."""
    assert OWN in guest.read(path)
    assert OWN not in other.read(path)
    for form in forms:
        assert f'action="{form}"' not in guest.page
        assert f'action="{form}"' in other.page


def test_an_owner_is_shown_no_form_that_decides_on_their_business(world: InProcess) -> None:
    own = personal(world)
    shop = world.act("account request", 1, account=own, name="Own shop", returnOrigins=ORIGIN)["account"]
    me, other = console(world, 0), console(world, 1)
    path = f"/operator/businesses/{shop}"
    assert_told(me, other, path, *(f"{path}/{act}" for act in ("approve", "reject", "ask")))
    world.act("account approve", 1, account=shop)
    path = f"/operator/accounts/{shop}"
    assert_told(me, other, path, f"{path}/messages")
    assert f"{path}/suspend" not in me.page
    for act in ("suspend", "close", "note"):
        assert_told(me, other, f"{path}/{act}", f"{path}/{act}")


def test_who_works_for_a_business_is_shown_no_form_either(world: InProcess) -> None:
    shop, email = world.merchants[0], world.operators[0].email
    accept = AcceptInvitation(new_invitation(world, shop, email), login_of(world, email).person)
    granted(world.run(world.context.engine.submit(accept)))
    me, other = console(world, 0), console(world, 1)
    path = f"/operator/accounts/{shop.account}/suspend"
    assert_told(me, other, path, path)


def test_what_concerns_an_operator_is_decided_by_another(world: InProcess) -> None:
    own, person = personal(world), login_of(world, world.operators[0].email).person
    me, other = console(world, 0), console(world, 1)
    path = f"/operator/people/{person}"
    assert_told(me, other, path)
    assert f"{path}/block" not in me.page
    for act in ("block", "reset-pin", "note"):
        assert_told(me, other, f"{path}/{act}", f"{path}/{act}")
    asked = world.act("deposit ask", 1, account=own, amount="9.00", currency="USD", reference="mine", reason="cash")
    path = f"/operator/proposals/{asked['id']}"
    assert OWN in me.read(path)
    assert 'action="/operator/proposals' not in me.page
    told = other.read(path)
    assert "You requested this. Another operator decides on it." in told
    assert f"{path}/withdraw" in other.page
    assert f"{path}/confirm" not in other.page


def test_a_payout_of_ones_own_is_ordered_or_declined_by_another(world: InProcess) -> None:
    own, email = personal(world), world.operators[0].email
    # The other operator and a third, since nobody confirms money of their own.
    third = operator_with(world, "treasury")
    words = {"account": own, "amount": "9.00", "currency": "USD", "reference": "mine", "reason": "cash"}
    world.agree("deposit ask", 1, by=third, **words)
    set_pin(world, email)
    person = login_of(world, email).person
    macs = world.context.keyring.pin_macs(person, PIN)
    asked = RequestPayout("po_own", int(own), person, "USD", 700, b"sealed", macs)
    granted(world.run(world.context.engine.submit(asked)))
    path = "/operator/payouts/po_own"
    assert_told(console(world, 0), console(world, 1), path, f"{path}/order", f"{path}/refuse")


def test_who_has_changed_a_proposal_is_told_that_another_confirms_it(world: InProcess) -> None:
    words = {"account": world.customers[0].account, "currency": "USD", "amount": "5.00", "reference": "slip"}
    asked = world.act("deposit ask", 0, **words, reason="cash")
    guest, path = console(world, 1), f"/operator/proposals/{asked['id']}"
    guest.open(path)
    guest.follow(guest.post(f"{path}/edit", amount="6.00", reason="six, not five"))
    assert "You changed this. Another operator confirms it." in guest.text
    assert f"{path}/refuse" in guest.page
