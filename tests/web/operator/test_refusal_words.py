"""Who acts on an account that does not allow it is told in which state it is."""

from collections.abc import Iterator

import pytest

from tests.live import ORIGIN, InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.console import console
from tests.web.tenant import login_of


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


def told(world: InProcess, act: str, account: str) -> str:
    reply = world.run(world.tried(f"account {act}", {"account": account, "reason": "because"}))
    assert reply.code == "move_not_allowed", reply
    return reply.detail


def test_acts_on_an_account_say_in_which_state_it_is(world: InProcess) -> None:
    shop, person = world.merchants[0], world.customers[0].account
    assert told(world, "resume", shop.account) == "This account is approved already. Nothing was changed."
    assert told(world, "resume", person) == "This account is verified already. Nothing was changed."
    assert told(world, "suspend", shop.test_account).startswith("This is a test account")
    world.act("account suspend", account=shop.account, reason="because")
    assert told(world, "suspend", shop.account) == "This account is suspended already. Nothing was changed."
    assert told(world, "reject", shop.account) == (
        "This account is suspended, which does not allow this. Nothing was changed."
    )


def test_closed_and_waiting_accounts_are_told_as_such(world: InProcess) -> None:
    asked = world.act("account request", account=world.customers[0].account, name="New", returnOrigins=ORIGIN)
    assert told(world, "suspend", asked["account"]) == (
        "This account is waiting for approval, which does not allow this. Nothing was changed."
    )
    shop = world.merchants[0].account
    world.agree("account close", account=shop)
    assert told(world, "close", shop) == "This account is closed already. Nothing was changed."
    for act in ("suspend", "resume", "approve"):
        assert told(world, act, shop) == "This account is closed, which does not allow this. Nothing was changed."


def test_to_resume_approves_nobody_and_to_approve_resumes_nobody(world: InProcess) -> None:
    asked = world.act("account request", account=world.customers[0].account, name="New", returnOrigins=ORIGIN)
    assert told(world, "resume", asked["account"]) == (
        "This account is waiting for approval, which does not allow this. Nothing was changed."
    )
    shop, person = world.merchants[0].account, world.customers[0].account
    for account, act in ((shop, "approve"), (person, "verify")):
        world.act("account suspend", account=account, reason="because")
        assert told(world, act, account) == "This account is suspended, which does not allow this. Nothing was changed."


def test_the_account_of_an_operator_is_not_closed_before_they_have_ended(world: InProcess) -> None:
    email = world.operators[1].email
    with world.books() as books:
        person = login_of(world, email).person
        [(account,)] = books.select("SELECT account FROM person WHERE id = ?", person)
    world.act("account verify", account=str(account))
    assert told(world, "close", str(account)) == "This is the account of an operator. End the operator first."


def test_the_console_says_the_same(world: InProcess) -> None:
    guest, path = console(world), f"/operator/accounts/{world.merchants[0].account}/suspend"
    guest.open(path)
    held = guest.form(path)
    world.act("account suspend", 1, account=world.merchants[0].account, reason="was faster")
    assert guest.post(path, held, reason="because").status_code == 409
    assert "This account is suspended already." in guest.text
