"""Money that does not add up is noticed while the service serves, and stands still until it is right again."""

import asyncio
import contextlib
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from qirsh.engine.batcher import Engine
from qirsh.store.integrity import hash_chain, incremental_checks
from qirsh.store.integrity.invariant import rule
from qirsh.store.interface import Store, StoreUnavailable
from qirsh.store.sqlite import store as sqlite_store
from qirsh.workers import ledger_auditor
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.sealer import Sealer
from tests.live import _SERVE, Call, InProcess, Live, World, create, in_process, live, pay, refused, retrieve
from tests.postgres import PostgresServer
from tests.waiting import until, wait_until
from tests.workers.broken_books import opened_books

READY: Final = Call("GET", "/readyz")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Served auditors rest for a second. The longer a cycle takes on a busy machine, the longer they would."""
    hurry = "import qirsh.workers.ledger_auditor\nqirsh.workers.ledger_auditor._PAUSE_TIMES = 0\n"
    monkeypatch.setattr("tests.live._SERVE", hurry + _SERVE)


@pytest.fixture
def served(engine: PostgresServer | None, hurried: None) -> Iterator[Live]:
    assert hurried is None
    with live(engine, shops=1, people=2) as world:
        yield world


def causes(world: World, call: Call = READY) -> list[str]:
    told: list[str] = world.send(call).json()["causes"]
    return told


def raised(account: str, by: int) -> str:
    return f"UPDATE balance SET amount = amount + {by} WHERE account = {account} AND currency = 'USD'"  # noqa: S608 - ours


def test_money_from_nowhere_stops_all_movement_until_it_is_gone_and_the_stop_is_lifted(served: Live) -> None:
    shop, customer = served.merchants[0], served.customers[0]
    paid, pending = served.payment(shop), served.payment(shop)
    assert served.send(pay(customer, paid).once("key")).status_code == 200
    reply = served.run(served.tried("audit lift", {"reason": "for nothing"}))
    assert (reply.code, reply.detail) == ("move_not_allowed", "Payments are not paused.")

    served.database.meddle("balance", raised(customer.account, 5))
    wait_until(lambda: served.send(READY).status_code == 503)
    # The sum, or the balance itself where the auditor has come to its transfers first.
    [cause] = causes(served)
    sentence = cause.removeprefix("money movement is stopped: ")
    assert sentence.startswith(
        ("balances in USD sum to 5, not to zero", f"balance of account {customer.account} in USD")
    )
    answer = served.send(pay(customer, pending))
    told = refused(answer, 503, "money_stopped")
    assert (told["title"], answer.headers["retry-after"]) == ("Payments paused", "60")
    slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "1.00", "reference": "later"}
    served.act("deposit ask", **slip, reason="cash")
    reply = served.run(served.tried("deposit confirm", {"reference": "later"}, operator=1))
    assert reply.code == "money_stopped"

    # All else goes on, also the answer to who asks again for what was done.
    assert served.send(create(shop.key)).status_code == 201
    assert served.send(retrieve(shop.key, paid)).json()["data"]["status"] == "paid"
    assert served.send(pay(customer, paid).once("key")).headers["idempotency-replayed"] == "true"

    reply = served.run(served.tried("audit lift", {"reason": "too early"}))
    assert reply.code == "move_not_allowed"
    first = reply.detail.partition("the first: ")[2]
    assert first.startswith("balances in USD sum to 5, not to zero")
    assert served.act("audit run") == {
        "violations": 3,
        "first": first,
        "money": "stopped",
    }
    served.database.meddle("balance", raised(customer.account, -5))
    assert served.send(pay(customer, pending)).status_code == 503  # Right again, and still stopped.
    asked = served.act("audit lift", reason="put back")
    assert (asked["action"], asked["state"], asked["about"]) == ("audit lift", "open", "stop 1")
    assert served.send(READY).status_code == 503  # One operator alone lifts nothing.
    decision = {"id": asked["id"], "digest": asked["digest"]}
    assert served.run(served.tried("proposal confirm", decision)).code == "second_operator_needed"
    assert served.act("proposal confirm", 1, **decision)["state"] == "done"
    assert served.send(READY).status_code == 200
    assert served.send(pay(customer, pending)).status_code == 200
    served.act("deposit confirm", operator=1, reference="later")
    assert served.act("audit run")["violations"] == 0
    with served.books() as books:
        told_of = "SELECT action, actor, detail FROM audit WHERE action LIKE 'money.%' ORDER BY id"
        stopped, lifting, resumed = books.select(told_of)
    assert stopped == ("money.stopped", "ledger auditor", sentence)
    told_by = f"{asked['id']}, asked by {asked['askedBy']}: put back"
    assert (lifting[0], lifting[2]) == ("money.lift_asked", told_by)
    assert (resumed[0], resumed[2]) == ("money.resumed", told_by)
    assert lifting[1] != resumed[1]


@pytest.mark.usefixtures("hurried")
def test_a_stop_is_felt_in_every_process_and_after_a_restart(postgres: PostgresServer) -> None:
    with live(postgres, shops=1, people=2, processes=2) as world:
        payment = world.payment(world.merchants[0])
        customer = world.customers[0]
        world.database.meddle("balance", raised(customer.account, 5))
        for call in world.everywhere(READY):
            wait_until(lambda call=call: world.send(call).status_code == 503)  # type: ignore[misc]
        for call in world.everywhere(pay(customer, payment)):
            refused(world.send(call), 503, "money_stopped")
        world.database.meddle("balance", raised(customer.account, -5))
        world.agree("audit lift", reason="put back")
        for call in world.everywhere(READY):
            wait_until(lambda call=call: world.send(call).status_code == 200)  # type: ignore[misc]
        assert world.send(pay(customer, payment)).status_code == 200


@pytest.mark.both_engines
def test_an_act_of_the_command_line_that_runs_alone_knows_of_the_stop(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=1) as world:
        customer = world.customers[0]
        slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "1.00", "reference": "one"}
        world.act("deposit ask", **slip, reason="cash")
        world.database.meddle("balance", raised(customer.account, 5))
        assert world.act("audit run")["money"] == "stopped"
        settings, operators = world.settings, world.operators
        if engine is not None:
            with InProcess(settings, world.now_ms) as alone:
                alone.operators = operators
                reply = alone.run(alone.tried("deposit confirm", {"reference": "one"}, operator=1))
                assert reply.code == "money_stopped"
        reply = world.run(world.tried("deposit confirm", {"reference": "one"}, operator=1))
        assert reply.code == "money_stopped"


@pytest.mark.both_engines
def test_a_check_that_finds_money_wrong_stops_it_at_once(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=1) as world:
        payment = world.payment(world.merchants[0])
        world.database.meddle("balance", raised(world.customers[0].account, 5))
        assert world.act("audit run")["money"] == "stopped"
        refused(world.send(pay(world.customers[0], payment)), 503, "money_stopped")


# What is wrong, on a database that holds something of everything. Each leaves the sums of the balances alone or not.

BROKEN: Final = {
    "a coin on one balance": "UPDATE balance SET amount = amount + 1 WHERE account = :customer AND currency = 'USD'",
    "a coin from one balance to another": (
        "UPDATE balance SET amount = amount + 1 WHERE account = :customer AND currency = 'USD';"
        "UPDATE balance SET amount = amount - 1 WHERE account = :other AND currency = 'USD'"
    ),
    "a balance deleted": "DELETE FROM balance WHERE account = :shop",
    "money held that nobody asked for": (
        "UPDATE balance SET held = held + 1 WHERE account = :customer AND currency = 'EUR'"
    ),
    "a payout that holds nothing": "UPDATE balance SET held = 0 WHERE account = :customer AND currency = 'EUR'",
    "a balance that takes itself for the house's": "UPDATE balance SET is_house = NOT is_house WHERE account = :shop",
    "a transfer's amount": "UPDATE transfer SET amount = amount + 1 WHERE id = 3",
    "a transfer's balance-after": "UPDATE transfer SET debit_balance = debit_balance + 1 WHERE id = 3",
    "a transfer's account": "UPDATE transfer SET credit = :other WHERE payment = :paid",
    "a transfer deleted": "DELETE FROM transfer WHERE id = 3",
    "the last transfer deleted": "DELETE FROM transfer WHERE id = (SELECT max(id) FROM transfer)",
    "a payment's amount": "UPDATE payment SET amount = amount + 1 WHERE number = :paid",
    "a payment's payer": "UPDATE payment SET payer = :other WHERE number = :paid",
    "a payment that nobody paid": (
        "UPDATE payment SET status = 'paid', payer = :customer, paid_at = 1, version = 2 WHERE number = :pending"
    ),
    "a payment deleted": "DELETE FROM payment WHERE number = :paid",
    "a refund without a transfer": "UPDATE payment SET refunded_amount = 1 WHERE number = :paid",
    "an event deleted": "DELETE FROM event WHERE payment = :paid",
    "a bank order's amount": "UPDATE bank_order SET amount = amount + 1 WHERE reference = 'slip 0'",
    "a bank order booked without its transfer": (
        "INSERT INTO bank_order SELECT house, 'asked', kind, account, currency, amount,"
        " (SELECT min(id) FROM proposal WHERE state = 'open' AND action = 'deposit'), booked_at, NULL, NULL"
        " FROM bank_order WHERE reference = 'slip 0'"
    ),
    "a bank order that one operator confirmed alone": (
        "UPDATE proposal SET decided_by = asked_by"
        " WHERE id = (SELECT proposal FROM bank_order WHERE reference = 'slip 0')"
    ),
    "a bank order confirmed by who has changed it": (
        "UPDATE proposal SET editors = CAST(decided_by AS TEXT)"
        " WHERE id = (SELECT proposal FROM bank_order WHERE reference = 'slip 0')"
    ),
    "a bank order whose proposal is open": (
        "UPDATE proposal SET state = 'open', decided_by = NULL, decided_at = NULL"
        " WHERE id = (SELECT proposal FROM bank_order WHERE reference = 'slip 0')"
    ),
    "a payout without its bank order": "UPDATE bank_order SET payout = NULL WHERE reference = 'payout'",
    "a refund's amount": "UPDATE refund SET amount = amount + 1 WHERE id = 're_1'",
    "a refund's time": "UPDATE refund SET created_at = 1 WHERE id = 're_1'",
    "a refund's payment": "UPDATE refund SET payment = :paid WHERE id = 're_1'",
    "a refund deleted": "DELETE FROM refund WHERE id = 're_1'",
    "a refund that nobody made": (
        "INSERT INTO refund SELECT 're_9', :paid, 3, 1, '', '{}', 99, created_at FROM refund WHERE id = 're_1'"
    ),
    "an event's type": "UPDATE event SET type = 'remote_payment.expired' WHERE payment = :paid",
    "the type of a refund's event": "UPDATE event SET type = 'remote_payment.paid' WHERE payment = :returned",
    "an event's account": "UPDATE event SET account = :other, sequence = 1 WHERE payment = :paid",
    "a counter of events": "UPDATE event_counter SET last = last + 1 WHERE account = :shop",
    "a counter of events deleted": "DELETE FROM event_counter WHERE account = :shop",
    "a counter of payments": "UPDATE counter SET last = 1 WHERE name = 'payment'",
    "a counter of open payouts": "UPDATE counter SET last = last + 1 WHERE name LIKE 'open payouts of account %'",
    "a fee": "UPDATE transfer SET kind = 'fee' WHERE payment = :paid",
    "a payment that expired before its time": "UPDATE payment SET updated_at = 1 WHERE number = :expired",
}
# What leaves the money as it was.
PAST: Final = {
    "an audit entry changed": ("UPDATE audit SET actor = 'x' WHERE id = 2", "audit entry 2 was changed after seal 1"),
    "an audit entry deleted": ("DELETE FROM audit WHERE id = 2", "audit entry 2 has vanished after seal 1"),
    "a transfer's time": ("UPDATE transfer SET created_at = 1 WHERE id = 1", "one of transfers 1 to 20 was changed .+"),
    "a seal changed": ("UPDATE seal SET content = content || ' '", "seal 1 was changed after it was made"),
    "a stop that was never told of": (
        "INSERT INTO stop VALUES (2, 1, 'by hand', 2, 'nobody')",
        "stop 2, lifted by nobody, is not in the audit log as the table has it: by hand",
    ),
    "a stop with another reason": ("UPDATE stop SET reason = 'another'", "stop 1, .+: another"),
    "a stop lifted by another": ("UPDATE stop SET lifted_by = 'another'", "stop 1, lifted by another, .+"),
}
# A part of what is good.
SUMMED: Final = ("a coin on one balance", "a balance deleted")


Look = Callable[[LedgerAuditor], Awaitable[list[str]]]


async def audited(store: Store, look: Look = LedgerAuditor.cycle, cycles: int = 1) -> list[list[str]]:
    """What an auditor that begins now finds, cycle by cycle."""
    auditor = LedgerAuditor(store, Engine(store, on_fatal=lambda: None))
    return [await look(auditor) for _ in range(cycles)]


@pytest.mark.both_engines
def test_good_books_raise_no_alarm(engine: PostgresServer | None, tmp_path: Path) -> None:
    with opened_books(engine, tmp_path, has_guards=True) as books:
        assert books.run(audited(books.store, cycles=3)) == [[], [], []]


@pytest.mark.both_engines
def test_a_good_past_raises_no_alarm(engine: PostgresServer | None, tmp_path: Path) -> None:
    with opened_books(engine, tmp_path, has_guards=True) as books:
        assert books.run(audited(books.store, LedgerAuditor.past, cycles=3)) == [[], [], []]


@pytest.mark.both_engines
def test_the_auditor_tells_of(engine: PostgresServer | None, tmp_path: Path, subtests: pytest.Subtests) -> None:
    with opened_books(engine, tmp_path) as books:
        for name, (sql, sentence) in PAST.items():
            with subtests.test(name), books.broken(sql):
                [found] = books.run(audited(books.store, LedgerAuditor.past))
                assert any(re.fullmatch(sentence, one) for one in found), found
        # Each began with a good past.
        [found] = books.run(audited(books.store, LedgerAuditor.past))
        assert not [one for one in found for _, sentence in PAST.values() if re.fullmatch(sentence, one)]


@pytest.mark.both_engines
def test_the_auditor_tells_of_guards_that_were_emptied_or_are_gone(
    engine: PostgresServer | None, tmp_path: Path
) -> None:
    with opened_books(engine, tmp_path) as books:
        [found] = books.run(audited(books.store, LedgerAuditor.past))
    assert [one for one in found if one.startswith("trigger transfer_stays ") and one.endswith(" is missing")]
    with opened_books(engine, tmp_path, has_guards=True) as books:
        if engine is None:
            books.hand.type("DROP TRIGGER transfer_stays")
            books.hand.type("CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer BEGIN SELECT 1; END")
        else:
            books.hand.type(
                "CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
            )
        [found] = books.run(audited(books.store, LedgerAuditor.past))
    assert found == ["trigger transfer_stays was changed" if engine is None else "function refused was changed"]


def test_the_auditor_tells_of_a_chain_whose_end_was_cut_off(engine: PostgresServer | None, tmp_path: Path) -> None:
    """A head that it has seen is not there any more, though what is left follows."""
    with opened_books(engine, tmp_path) as books:
        auditor = LedgerAuditor(books.store, Engine(books.store, on_fatal=lambda: None))
        gone = "seal 1, which was given, is not there: the chain ends at seal 0"
        assert gone not in books.run(auditor.past())
        books.hand.type("DELETE FROM seal")
        assert gone in books.run(auditor.past())


def test_what_is_told_of_the_past_stands_once_in_the_log_and_stops_nothing(
    engine: PostgresServer | None, caplog: pytest.LogCaptureFixture
) -> None:
    with in_process(engine, shops=1, people=1) as world:
        world.database.meddle("audit", "UPDATE audit SET actor = 'x' WHERE id = 1")
        world.run(Sealer(world.context.store, world.context.engine, world.context.clock).seal_all())
        world.database.meddle("audit", "UPDATE audit SET actor = 'y' WHERE id = 1")
        auditor = LedgerAuditor(world.context.store, world.context.engine)
        for _ in range(3):
            world.run(auditor.look())
        told = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
        assert told == ["the past or its guards were changed: audit entry 1 was changed after seal 1"]
        assert world.send(READY).status_code == 200


@pytest.mark.both_engines
def test_the_auditor_finds(
    engine: PostgresServer | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr(ledger_auditor, "_SECOND_LOOK_S", 0)
    with opened_books(engine, tmp_path) as books:
        for name, sql in BROKEN.items():
            with subtests.test(name), books.broken(sql):
                [found] = books.run(audited(books.store))
                assert found
                if name in SUMMED:
                    assert "sum to" in found[0]
        assert books.run(audited(books.store, cycles=2)) == [[], []]  # Each began with good books.


def test_a_check_that_takes_too_long_is_not_asked_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
    monkeypatch.setattr(incremental_checks, "SUMS", rule(1, "without end", "{}", endless))
    monkeypatch.setattr(sqlite_store, "_SEARCH_S_MAX", 0.2)

    async def nothing(_auditor: LedgerAuditor) -> list[str]:
        return []

    monkeypatch.setattr(LedgerAuditor, "past", nothing)  # No other search may take too long.
    with opened_books(None, tmp_path, has_guards=True) as books:
        auditor = LedgerAuditor(books.store, Engine(books.store, on_fatal=lambda: None))
        pause_s = books.run(auditor.look())
    assert 20 <= pause_s <= 60
    assert [record.getMessage() for record in caplog.records] == [
        "the ledger auditor did not come to the end of a cycle: a search took too long"
    ]


def test_a_look_at_the_past_that_is_cancelled_asks_nothing_more_and_leaves_no_thread(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow(select: Callable[[str], object], *_: object) -> tuple[int, list[object]]:
        begun.set()
        go_on.wait()
        try:
            select("SELECT 1")
        except StoreUnavailable as error:
            ended.append(str(error))
            raise
        return 0, []

    monkeypatch.setattr(hash_chain, "part_violations", slow)
    with in_process(engine, shops=0, people=0) as world:
        auditor = LedgerAuditor(world.context.store, world.context.engine)

        async def scene() -> None:
            looking = asyncio.create_task(auditor.past())
            await until(begun.is_set)
            for _ in range(9):  # However often: the store is closed after it has ended.
                looking.cancel()
                await asyncio.sleep(0)
            assert not looking.done()
            go_on.set()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

        world.run(scene())
    assert ended == ["the service stops"]


def test_a_member_who_must_not_be_there_stands_in_the_log_once_and_stops_nothing(
    engine: PostgresServer | None, caplog: pytest.LogCaptureFixture
) -> None:
    with in_process(engine, shops=1, people=1) as world:
        shop, person = world.merchants[0], world.person(verified=True)
        account = int(shop.account)
        with world.books() as books:
            [(stranger,)] = books.select("SELECT owner FROM account WHERE number = ?", int(person.account))
            [(owner,)] = books.select("SELECT owner FROM account WHERE number = ?", account)
        auditor = LedgerAuditor(world.context.store, world.context.engine)
        world.run(auditor.check_staff())
        assert caplog.records == []
        row = "INSERT INTO member (account, person, role, invited_by, created_at, updated_at) VALUES"
        world.database.meddle("member", f"{row} ({account}, {owner}, 'manager', {owner}, 1, 1)")
        world.database.meddle("member", f"{row} ({shop.test_account}, {stranger}, 'viewer', {owner}, 1, 1)")
        for _ in range(4):  # A round, the end of it, and both again.
            world.run(auditor.check_staff())
        told = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
        assert sorted(told) == sorted(
            f"the staff of a business is wrong: person {who} is {role} at account {where} (commercial, {mode})"
            f" of person {owner}, and was erased at nothing"
            for who, role, where, mode in (
                (owner, "manager", account, "live"),
                (stranger, "viewer", shop.test_account, "test"),
            )
        )
        assert world.act("audit run")["money"] == "moves"
