"""Being forgotten: what keeps an account open, what is asked before, and that nothing is left that tells who it was."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from qirsh.domain.commands.login_credentials import AddPasskey, StartChallenge
from qirsh.store.integrity.invariant import Violation
from tests.altered import alter
from tests.guest import Guest
from tests.live import PASSWORD, PIN, Customer, InProcess, in_process, refund, refused, sign_in
from tests.postgres import PostgresServer
from tests.web.photo import picture

PAGE = "/wallet/erase"
CANARIES = (
    "Zubaida",
    "Alkanari",
    "canary@forget.example",
    "new-canary@forget.example",
    "55501984",
    "DOC0CANARY",
    "Canaryphone",
    "Canarybrowser",
)


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    """Of its own: its files are read afterwards."""
    with in_process(engine, shops=1, people=1) as held:
        yield held


def joined(world: InProcess) -> tuple[Guest, str, int]:
    """Somebody whose every word can be told apart, known in all ways in which we know people."""
    name = "Zubaida Alkanari"
    done = world.act("person add", email="canary@forget.example", name=name, password=PASSWORD, pin=PIN)
    guest = Guest(world).signed_in("canary@forget.example")
    guest.open("/wallet/settings")
    assert guest.post("/wallet/settings", phone="+963 55501984", language="en", notices="yes").status_code == 303
    guest.open("/wallet/identity")
    facts = {"given_names": "Zubaida", "family_name": "Alkanari", "birth_date": "1990-01-01"}
    more = {"document": "passport", "document_number": "DOC0CANARY"}
    assert guest.upload("/wallet/identity", {"front": picture()}, **facts, **more).status_code == 303
    world.act("account verify", account=done["account"])
    submit = world.context.engine.submit
    for purpose, email, token in (
        ("reset", "canary@forget.example", b"1"),
        ("email", "new-canary@forget.example", b"2"),
    ):
        world.run(submit(StartChallenge(purpose, email, done["person"], token * 32, b"", ())))  # type: ignore[arg-type]  # Two purposes.
    world.run(submit(AddPasskey(b"a passkey", done["person"], b"public", 0, "Canaryphone", ())))
    entered = world.send(sign_in("canary@forget.example").with_header("user-agent", "Canarybrowser/1.0"))
    assert entered.status_code == 201
    guest.open(PAGE)
    return guest, done["account"], done["person"]


def stored(world: InProcess, engine: PostgresServer | None) -> bytes:
    """All that the database holds, dead or alive; of PostgreSQL all that a dump tells."""
    database = world.settings.database
    if isinstance(database, Path):
        # What was in the journal stays there until its pages are in the file and it begins anew.
        with contextlib.closing(apsw.Connection(str(database))) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0
        return b"".join(file.read_bytes() for file in world.database.files())
    assert engine is not None
    dump = subprocess.run(
        [engine.binaries / "pg_dump", "-d", str(database)], capture_output=True, check=True, timeout=60
    )
    return dump.stdout


@pytest.mark.both_engines
def test_nothing_tells_any_more_who_it_was_and_the_books_are_right(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=1) as world:
        guest, account, person = joined(world)
        world.deposit(account, 500)
        world.withdraw(account, 500)
        before = stored(world, engine)
        assert all(canary.encode() in before for canary in CANARIES if canary != "DOC0CANARY")
        guest.open(PAGE)
        answer = guest.post(PAGE, password=PASSWORD)
        assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
        guest.open(PAGE)
        assert "Your account is deleted." in guest.text
        assert guest.open("/wallet/settings").headers["location"] == "/sign-in?next=%2Fwallet%2Fsettings"
        assert world.send(sign_in("canary@forget.example")).status_code == 401
        with world.books() as books:
            gone = ("login", "pin", "identity", "identity_image", "passkey", "challenge", "session")
            for table in gone:
                assert books.select(f"SELECT count(*) FROM {table} WHERE person = ?", person) == [(0,)], table  # noqa: S608 - our own names
            assert books.select("SELECT name, phone FROM person WHERE id = ?", person) == [("", "")]
            assert books.select("SELECT name, state FROM account WHERE number = ?", int(account)) == [("", "closed")]
            transfers = "SELECT count(*) FROM transfer WHERE debit = ? OR credit = ?"
            assert books.select(transfers, int(account), int(account)) == [(2,)]
        assert world.violations() == []
        after = stored(world, engine)
    assert [canary for canary in CANARIES if canary.encode() in after] == []


def test_no_money_goes_back_to_somebody_who_was_erased(world: InProcess) -> None:
    guest, account, _ = joined(world)
    shop = world.merchants[0]
    world.deposit(account, 500)
    token = world.send(sign_in("canary@forget.example")).json()["data"]["token"]
    payment = world.paid(shop, Customer("canary@forget.example", account, token), amount=500)
    guest.open(PAGE)
    assert guest.post(PAGE, password=PASSWORD).status_code == 303
    before = world.counts()
    told = refused(world.send(refund(shop.key, payment)), 409, "payer_closed")
    assert "outside of Qirsh" in told["detail"]
    assert world.counts() == before
    assert (world.held(account), world.held(shop.account)) == (0, 500)


def test_two_operators_pay_out_what_came_to_a_closed_account_and_put_nothing_in(world: InProcess) -> None:
    account = world.person(verified=True).account
    world.deposit(account, 500)
    words: dict[str, Any] = {"account": account, "currency": "USD", "amount": "5.00", "reason": "test"}
    world.act("deposit ask", **words, reference="in")
    alter(world, account, state="closed")  # As by a refund of days when that was not refused.
    assert world.run(world.tried("deposit confirm", {"reference": "in"}, 1)).code == "account_suspended"
    assert world.run(world.tried("deposit ask", {**words, "reference": "later"}, 0)).code == "account_suspended"
    world.act("withdraw ask", **words, reference="out")
    assert world.run(world.tried("withdraw confirm", {"reference": "out"}, 0)).code == "second_operator_needed"
    assert world.act("withdraw confirm", operator=1, reference="out")["state"] == "done"
    assert world.held(account) == 0
    assert world.run(world.withdrawn(account, 1)) == "insufficient_funds"
    assert world.violations() == []


def left(guest: Guest) -> str:
    guest.open(PAGE)
    assert f'action="{PAGE}"' not in guest.page
    return guest.text


@pytest.mark.both_engines
def test_money_a_payout_or_a_business_keeps_the_account_open_and_is_named(world: InProcess) -> None:
    guest, account, person = joined(world)
    early = guest.posting(PAGE, password=PASSWORD)
    world.deposit(account, 12_34)
    assert "There is money in your account: 12.34 USD" in left(guest)
    assert world.send(early).status_code == 422
    world.withdraw(account, 12_34)
    asked = world.act("account request", account=account, name="Bakery <b>")
    text = left(guest)
    assert "The business Bakery <b> is still open" in text
    assert "There is money" not in text
    assert world.send(early).status_code == 422
    alter(world, asked["account"], state="rejected")
    assert world.send(early).status_code == 303
    with world.books() as books:
        assert not books.select("SELECT erased_at IS NULL FROM person WHERE id = ?", person)[0][0]


def test_a_wrong_password_erases_nothing(world: InProcess) -> None:
    guest, _, person = joined(world)
    for wrong in ("", "correct horse batterie", "x" * 2000):
        assert guest.post(PAGE, password=wrong).status_code == 422
        assert "Nothing was deleted" in guest.text
    assert guest.post(PAGE, password=PASSWORD, token="0" * 64).status_code == 403
    with world.books() as books:
        assert books.select("SELECT name FROM person WHERE id = ?", person) == [("Zubaida Alkanari",)]


def test_an_operator_is_not_erased_while_they_are_one(world: InProcess) -> None:
    email = world.operators[1].email
    guest = Guest(world)
    assert guest.sign_in(email, code=world.code_of(email)).status_code == 303
    assert "You are an operator of this service" in left(guest)
    world.agree("operator end", 1, by=0, email=email)
    world.clock.advance(60_000)
    assert guest.sign_in(email, code=world.code_of(email)).status_code == 303
    guest.open(PAGE)
    world.clock.advance(60_000)
    assert guest.post(PAGE, password=PASSWORD, code=world.code_of(email)).status_code == 303
    assert world.violations() == []


def test_a_stranger_reads_nothing_and_no_word_in_a_cookie_erases(world: InProcess) -> None:
    guest, _, _ = joined(world)
    before = world.counts()
    guest.open(PAGE)
    assert world.counts() == before
    guest.cookies = {"qirsh-said": "erase.done"}
    guest.open(PAGE)
    assert "Your account is deleted." in guest.text  # Anybody may write that cookie, and only see these words.
    guest.cookies = {}
    assert guest.open(PAGE).headers["location"] == "/sign-in"
    assert re.search("Zubaida", guest.page) is None


async def _verified(world: InProcess) -> list[Violation]:
    return await world.context.verify()
