"""Payouts in the console: what waits, where it goes, ordered by one and confirmed by another, or declined."""

from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.commands.bank_account import AddBankAccount, RequestShopPayout
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.limits import BANK_ACCOUNT_NEW_MS
from qirsh.domain.payout import Payout
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, sealed, sealed_for_bank_account
from tests.live import PIN, Customer, InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.console import console, operator_with
from tests.web.tenant import login_of

BANK = BankDetails("Leyla Kaya", "Ziraat", "TR330006100519786457841326")


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2) as held:
        yield held
        assert held.violations() == []


def request(world: InProcess, payout: str, customer: Customer | None = None) -> None:
    one = customer or world.customers[0]
    person = login_of(world, one.email).person
    macs = world.context.keyring.pin_macs(person, one.pin)
    bank = sealed(world.context.keyring, BANK, payout)
    world.clock.advance(1)
    wish = RequestPayout(payout, int(one.account), person, "USD", 700, bank, macs)
    assert granted(world.run(world.context.engine.submit(wish))).state == "asked"


def found(world: InProcess, payout: str) -> Payout:
    row = world.run(world.context.store.find(Tables.payouts, payout))
    assert row is not None
    return row


@pytest.mark.both_engines
def test_the_queue_has_the_oldest_first_and_each_leads_to_the_next(world: InProcess) -> None:
    for name in ("po_b", "po_a", "po_c"):
        request(world, name)
    guest = console(world)
    assert "7.00" in guest.read("/operator/payouts")
    assert guest.page.index("po_b") < guest.page.index("po_a") < guest.page.index("po_c")
    guest.open("/operator/payouts/po_b")
    assert 'href="/operator/payouts/po_a"' in guest.page
    guest.follow(guest.post("/operator/payouts/po_b/order", reference="FT 1", house="bank"))
    assert "Ordered." in guest.text
    assert 'href="/operator/payouts/po_a"' in guest.page
    guest.open("/operator/payouts")
    assert "po_b" not in guest.page


@pytest.mark.both_engines
def test_a_payout_shows_where_it_goes_and_is_ordered_by_one_and_confirmed_by_another(world: InProcess) -> None:
    request(world, "po_1")
    guest, other = console(world, 0), console(world, 1)
    page = guest.read("/operator/payouts/po_1")
    for told in ("Leyla Kaya", "Ziraat", "TR33 0006 1005 1978 6457 8413 26", "7.00", "Held for payouts"):
        assert told in page
    answer = guest.post("/operator/payouts/po_1/order", reference="FT 1", house="bank")
    assert answer.headers["location"] == "/operator/payouts/po_1"
    guest.follow(answer)
    [asked] = world.act("proposal list")["items"]
    assert f'href="/operator/proposals/{asked["id"]}"' in guest.page
    assert "/operator/payouts/po_1/order" not in guest.page
    assert other.confirm(asked["id"]).status_code == 303
    assert found(world, "po_1").state == "paid"
    # Once it is over, nobody reads where it went.
    assert "TR33" not in guest.read("/operator/payouts/po_1")


def test_a_payout_is_declined_with_a_reason_and_not_without(world: InProcess) -> None:
    request(world, "po_1")
    guest = console(world)
    guest.open("/operator/payouts/po_1")
    assert guest.post("/operator/payouts/po_1/refuse", reason="").status_code == 422
    assert "reason" in guest.wrong
    guest.follow(guest.post("/operator/payouts/po_1/refuse", reason="the name is another one"))
    assert "Declined. The owner sees the reason." in guest.text
    assert (found(world, "po_1").state, found(world, "po_1").reason) == ("refused", "the name is another one")


def test_what_another_operator_has_decided_meanwhile_is_a_conflict(world: InProcess) -> None:
    request(world, "po_1")
    guest = console(world)
    guest.open("/operator/payouts/po_1")
    form = guest.form("/operator/payouts/po_1/refuse")
    world.act("payout order", 1, id="po_1", reference="FT 1")
    answer = guest.post("/operator/payouts/po_1/refuse", form, reason="no")
    assert answer.status_code == 409
    assert "It is ordered" in guest.text
    assert found(world, "po_1").state == "ordered"


def test_a_reference_that_was_used_is_refused_and_what_was_typed_is_kept(world: InProcess) -> None:
    request(world, "po_1")
    slip: dict[str, Any] = {"account": world.customers[1].account, "currency": "USD", "amount": "1.00"}
    world.agree("deposit ask", **slip, reference="FT 1")
    guest = console(world)
    guest.open("/operator/payouts/po_1")
    answer = guest.post("/operator/payouts/po_1/order", reference="FT 1", house="bank")
    assert answer.status_code == 409
    assert guest.value("reference") == "FT 1"
    assert "An order with this reference exists" in guest.text


def test_since_when_a_bank_account_of_a_business_is_known_and_used_is_shown(world: InProcess) -> None:
    shop = world.merchants[0]
    world.paid(shop, world.customers[0], amount=5000)
    member, engine = login_of(world, shop.email).person, world.context.engine
    details = sealed_for_bank_account(world.context.keyring, BANK, "ba_1")
    granted(world.run(engine.submit(AddBankAccount("ba_1", int(shop.account), details, member))))
    world.clock.advance(BANK_ACCOUNT_NEW_MS + 2 * 24 * 3_600_000)
    for payout in ("po_1", "po_2"):
        bank, macs = sealed(world.context.keyring, BANK, payout), world.context.keyring.pin_macs(member, PIN)
        wish = RequestShopPayout(
            payout, int(shop.account), member, "USD", 700, bank, macs, bank_hint=BANK.hint, bank_account="ba_1"
        )
        granted(world.run(engine.submit(wish)))
    guest = console(world)
    page = " ".join(guest.read("/operator/payouts/po_1").split())
    assert "Bank account added" in page
    assert "(3 days)" in page
    assert "This is the first one." in page
    world.act("payout order", id="po_1", reference="FT 1")
    world.act("withdraw confirm", 1, reference="FT 1")
    page = " ".join(guest.read("/operator/payouts/po_2").split())
    assert "This is the first one." not in page
    assert "Last payouts of this account" in page
    assert "…1326" in page


def test_who_may_not_ask_for_money_sees_no_bank_details(world: InProcess) -> None:
    request(world, "po_1")
    for role in ("support", "auditor"):
        guest = console(world, operator_with(world, role))
        assert guest.open("/operator/payouts/po_1").status_code == 403
        assert "Leyla" not in guest.page
        assert guest.open("/operator/payouts").status_code == 403
