"""The ledger in the console: sums, checks and stops; a balance broken by hand shows, and two lift the stop."""

import re
from collections.abc import Iterator

import pytest

from qirsh.contract.timestamps import timestamp
from qirsh.workers.ledger_auditor import LedgerAuditor
from tests.guest import Guest
from tests.live import InProcess, in_process, pay, refused
from tests.postgres import PostgresServer
from tests.web.operator.console import ConsoleGuest, console, operator_with

LEDGER = "/operator/ledger"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2) as held:
        yield held


def break_balance(world: InProcess, by: str) -> None:
    account = world.customers[0].account
    sql = f"UPDATE balance SET amount = amount {by} WHERE account = {account} AND currency = 'USD'"  # noqa: S608 - ours
    world.database.meddle("balance", sql)


def row_of(guest: ConsoleGuest, name: str) -> str:
    """The first line of a table or list that has it, as text: live money stands first."""
    row = next(row for row in re.findall(r"<tr>.*?</tr>|<li><div>.*?</li>", guest.page, re.DOTALL) if name in row)
    return " ".join(re.sub(r"<[^>]+>", " ", row).split())


def test_before_the_auditor_has_looked_the_page_says_so(world: InProcess) -> None:
    text = console(world).read(LEDGER)
    assert "has not summed the balances yet" in text
    assert "Not checked yet" in text
    assert "Money was never stopped." in text


@pytest.mark.both_engines
def test_money_by_kind_of_account_comes_to_zero_and_test_money_is_apart(world: InProcess) -> None:
    shop, customer = world.merchants[0], world.customers[0]
    assert world.send(pay(customer, world.payment(shop, amount=12345))).status_code == 200
    world.run(LedgerAuditor(world.context.store, world.context.engine).look())
    guest = console(world)
    guest.open(LEDGER)
    row = row_of(guest, ">USD<")
    assert " 123.45 " in row
    assert " 0.00 " in row
    assert "Test money, which is apart from it" in guest.text


@pytest.mark.both_engines
def test_a_broken_balance_shows_within_a_cycle_money_stops_and_two_lift_the_stop(world: InProcess) -> None:
    treasury, admin = operator_with(world, "treasury"), operator_with(world, "admin")
    auditor = LedgerAuditor(world.context.store, world.context.engine)
    customer, payment = world.anew(world.customers[0]), world.payment(world.merchants[0])
    world.run(auditor.look())
    break_balance(world, "+ 5")
    world.run(auditor.look())  # One cycle.
    asks, confirms = console(world, treasury), console(world, admin)
    asks.open(LEDGER)
    assert "All money stands still" in asks.text
    assert "Broken" in row_of(asks, "per currency, debits equal credits")
    assert "balances in USD sum to 5, not to zero" in asks.text
    assert " 0.05 " in row_of(asks, ">USD<")
    refused(world.send(pay(customer, payment)), 503, "money_stopped")

    # Nobody lifts it while the books are wrong.
    answer = asks.post(f"{LEDGER}/lift", reason="it will be fine")
    assert answer.status_code == 409
    assert "rules are still broken" in asks.text
    assert 'value="it will be fine"' in asks.page
    break_balance(world, "- 5")
    asks.open(LEDGER)
    assert asks.post(f"{LEDGER}/lift", reason="").status_code == 422
    assert "reason" in asks.wrong
    answer = asks.post(f"{LEDGER}/lift", reason="put back what was typed")
    proposal = asks.proposal(answer)
    assert "Waiting for another operator: lift the stop" in asks.read(LEDGER)
    assert f"{LEDGER}/lift" not in asks.page
    refused(world.send(pay(customer, payment)), 503, "money_stopped")

    assert f"{LEDGER}/lift" not in confirms.read(LEDGER)  # An admin does not ask, and confirms:
    # Who confirms sees what the stop was, and what was found last.
    text = confirms.read(f"/operator/proposals/{proposal}")
    assert re.search(r"Why money was stopped .*balances in USD sum to 5, not to zero Since ", text), text
    assert re.search(r"Last finding .*balances in USD sum to 5, not to zero", text), text
    told = world.act("proposal show", admin, id=proposal)
    assert told["stopReason"].endswith("balances in USD sum to 5, not to zero")
    assert told["lastFinding"].endswith("balances in USD sum to 5, not to zero")
    assert told["stoppedAt"]
    world.run(auditor.look())
    world.run(auditor.write_down())
    assert world.act("proposal show", admin, id=proposal)["lastFinding"] == "no check is broken"
    assert "No check is broken." in confirms.read(f"/operator/proposals/{proposal}")
    assert confirms.confirm(proposal).status_code == 303
    assert "Last finding" not in confirms.read(f"/operator/proposals/{proposal}")
    assert world.send(pay(customer, payment)).status_code == 200
    for _ in range(2):
        world.run(auditor.look())
    world.run(auditor.write_down())
    text = confirms.read(LEDGER)
    assert "All money stands still" not in text
    assert "Stopped by ledger auditor" in text
    assert "put back what was typed" in text
    assert "Holds" in row_of(confirms, "per currency, debits equal credits")
    assert world.violations() == []


def test_while_money_stands_still_every_page_tells_every_operator_since_when(world: InProcess) -> None:
    support, treasury = operator_with(world, "support"), operator_with(world, "treasury")
    pages = ("/operator", "/operator/proposals", "/operator/search?q=nobody", "/operator/people/1", "/operator/ledger")
    guest, banker = console(world, support), console(world, treasury)
    assert "All money stands still" not in guest.read("/operator")
    break_balance(world, "+ 5")
    world.run(LedgerAuditor(world.context.store, world.context.engine).look())
    with world.books() as books:
        [(at,)] = books.select("SELECT at FROM stop")
    for page in pages:
        text = banker.read(page)
        assert text.count("All money stands still") == 1, page
        assert "balances in USD sum to 5, not to zero" in text
        assert "count the smallest unit: 1 is 0.01 USD" in text
        assert f'Since <time datetime="{timestamp(at)}"' in banker.page
        assert banker.page.count(f'href="{LEDGER}"') == (1 if page == LEDGER else 2)  # In the menu, and here.
    for page in pages[:-1]:
        assert guest.read(page).count("All money stands still") == 1, page
        assert LEDGER not in guest.page


def test_the_full_check_is_run_from_the_page_and_its_result_stays(world: InProcess) -> None:
    guest = console(world)
    guest.open(LEDGER)
    guest.follow(guest.post(f"{LEDGER}/check"))
    assert "Every rule was checked, and all of them hold." in guest.text
    assert "no violations" in guest.read(LEDGER)
    assert ">USD<" in guest.page  # The sums are of this moment,
    for name in ("per currency, debits equal credits", "the chain of seals is whole", "the database guards itself"):
        assert "Holds" in row_of(guest, name)  # and so is what was checked.
    break_balance(world, "+ 5")
    guest.follow(guest.post(f"{LEDGER}/check"))
    assert "not all of them hold" in guest.text
    assert "Broken" in row_of(guest, "per currency, debits equal credits")
    assert "Holds" in row_of(guest, "the chain of seals is whole")
    assert "All money stands still" in guest.text


def test_an_auditor_sees_the_ledger_and_asks_for_nothing(world: InProcess) -> None:
    auditor = operator_with(world, "auditor")
    break_balance(world, "+ 5")
    world.run(LedgerAuditor(world.context.store, world.context.engine).look())
    guest = console(world, auditor)
    assert "All money stands still" in guest.read(LEDGER)
    assert f"{LEDGER}/lift" not in guest.page
    guest = console(world, operator_with(world, "support"))
    assert guest.open(LEDGER).status_code == 403
    guest.open("/operator")
    assert LEDGER not in guest.page
    assert Guest(world).open(LEDGER).status_code == 404
