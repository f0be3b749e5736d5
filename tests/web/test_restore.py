"""A database that was put back, beside one that went on: no id is in both, nothing is sent twice, and money waits."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain.commands.person import Join
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.counter import NOTIFIED
from qirsh.domain.limits import EPOCH_ACCOUNTS
from qirsh.domain.stop import SET_BACK
from qirsh.domain.tables import Tables
from qirsh.store.interface import StoreUnavailable, UnusableDatabase
from qirsh.store.reads.webhooks import busy_queues
from qirsh.store.verify import verify
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.notifier import Notifier
from tests.guest import Guest
from tests.live import Call, InProcess, Merchant, cancel, create, in_process, pay, refused
from tests.postgres import PostgresServer
from tests.restored import restore
from tests.web.business.staff import home
from tests.web.business.test_exports import export, rows
from tests.web.lists import TRANSFERS, walk
from tests.web.webhooks import delivery_of, new_endpoint, resend
from tests.workers.mailing import post

EVENTS: Final = "/api/v1/events"
DAY_MS: Final = 24 * 3600 * 1000
FAR: Final = 2**61


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2, more={"QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8"}) as made:
        yield made


def lift(world: InProcess) -> None:
    world.agree("audit lift", by=1)


def ids(world: InProcess, merchant: Merchant) -> set[str]:
    """All that were given out, of each kind that is counted."""
    with world.books() as books:
        people = {f"person {number}" for (number,) in books.select("SELECT id FROM person")}
        accounts = {f"account {number}" for (number,) in books.select("SELECT number FROM account")}
        payments = {f"payment {number}" for (number,) in books.select("SELECT number FROM payment")}
    listed = walk(world, merchant.key, TRANSFERS, limit=100) + world.data(Call("GET", EVENTS, merchant.key))["items"]
    return people | accounts | payments | {each["id"] for each in listed}


def go_on(world: InProcess, merchant: Merchant) -> set[str]:
    """What happens after the copy was made: the ids that were given out by it."""
    before = ids(world, merchant)
    customer = world.anew(world.customers[0])
    for amount in (100, 200):
        world.data(pay(customer, world.payment(merchant, amount=amount)))
    world.data(cancel(merchant.key, world.payment(merchant)))
    world.merchant()
    return ids(world, merchant) - before


def assert_right(world: InProcess) -> None:
    """Every rule holds, as a look from outside and as the auditor's own looks find."""
    assert verify(world.settings.database, lambda _: None) == []
    auditor = LedgerAuditor(world.context.store, world.context.engine)
    assert (world.run(auditor.cycle()), world.run(auditor.past())) == ([], [])


@pytest.mark.both_engines
def test_what_is_given_out_after_a_restore_was_never_given_out(engine: PostgresServer | None, world: InProcess) -> None:
    [merchant] = world.merchants
    lost = go_on(world, merchant)
    with in_process(engine, shops=1, people=2) as back:
        assert restore(back).epoch == 1
        lift(back)
        first = go_on(back, merchant)
        assert {each.split("_")[0].split()[0] for each in first} == {"person", "account", "payment", "tr", "evt"}
        assert first & lost == set()
        assert {each for each in first if each.startswith(("tr_", "evt_"))} == {
            each for each in first if each.startswith(("tr_1_", "evt_1_"))
        }
        assert_right(back)
        # And once more, on top of it.
        assert restore(back).epoch == 2
        lift(back)
        second = go_on(back, merchant)
        assert second & (first | lost) == set()
        assert_right(back)
        transfers = [each["id"] for each in walk(back, merchant.key, TRANSFERS, limit=2)]
        assert [name.count("_") for name in transfers] == [3] * 4 + [2] * (len(transfers) - 4), (
            "those before keep theirs"
        )


@pytest.mark.both_engines
def test_a_copy_that_was_restored_before_needs_the_last_epoch(engine: PostgresServer | None, world: InProcess) -> None:
    [merchant] = world.merchants
    restore(world)
    lift(world)
    lost = go_on(world, merchant)
    with in_process(engine, shops=1, people=2) as back:
        assert restore(back, epoch_above=1).epoch == 2
        lift(back)
        assert go_on(back, merchant) & lost == set()


def test_money_stands_still_until_two_operators_lift_the_stop(world: InProcess) -> None:
    [merchant] = world.merchants
    restore(world)
    customer = world.anew(world.customers[0])
    payment = world.payment(merchant)
    told = refused(world.send(pay(customer, payment)), 503, "money_stopped")
    assert "restored to 2027" not in told["detail"]
    assert world.run(world.tried("deposit ask", _slip(customer.account))).done is not None
    assert world.run(world.tried("deposit confirm", {"reference": "new"}, 1)).code == "money_stopped"
    lift(world)
    world.data(pay(customer, payment))
    assert_right(world)


def _slip(account: str) -> dict[str, Any]:
    return {"account": account, "amount": "1.00", "currency": "USD", "reference": "new", "reason": "test"}


@pytest.mark.both_engines
def test_sessions_of_before_open_nothing_and_those_that_were_over_stay_as_they_were(world: InProcess) -> None:
    customer = world.customers[0]
    assert world.send(Call("GET", "/api/v1/wallet/balances", customer.token)).status_code == 200
    world.clock.advance(DAY_MS)
    world.anew(customer)
    with world.books() as books:
        [(over,)] = books.select("SELECT count(*) FROM session WHERE expires_at <= ?", world.now_ms())
    assert over
    restore(world)
    again = world.send(Call("GET", "/api/v1/wallet/balances", customer.token))
    assert again.status_code == 401
    with world.books() as books:
        assert books.select("SELECT count(*) FROM session") == [(over,)]
        assert books.select("SELECT count(*) FROM operator_session") == [(0,)]
    assert_right(world)


def notifier(world: InProcess) -> Notifier:
    context = world.context
    return Notifier(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        entropy=context.entropy,
        identifiers=context.identifiers,
        base_url="https://pay.example",
        digest_ms=0,
    )


def letters(world: InProcess) -> int:
    """Those that wait, after the notifier has told all it knows."""
    worker = notifier(world)
    while world.run(worker.tell()):
        pass
    with world.books() as books:
        [(count,)] = books.select("SELECT count(*) FROM mail")
    return int(count)


@pytest.mark.both_engines
def test_nobody_is_mailed_what_they_may_have_been_mailed_before(world: InProcess) -> None:
    [merchant], customer = world.merchants, world.customers[0]
    post(world, "a@x.org")
    world.paid(merchant, customer)  # No seal covers it yet: one will, after the restore.
    with world.books() as books:
        [(sealed,)] = books.select("SELECT coalesce(max(number), 0) FROM seal")
    made = restore(world)
    assert made.last_seal == sealed
    counter = world.run(world.context.store.find(Tables.counters, NOTIFIED))
    assert counter is not None
    assert counter.last == sealed > 0
    with world.books() as books:
        assert books.select("SELECT max(number) FROM seal")[0][0] > sealed
    assert letters(world) == 0
    lift(world)
    world.paid(merchant, world.anew(customer))
    world.reopen()
    assert letters(world) == 1, "of what came after it"


@pytest.mark.both_engines
def test_no_event_of_before_is_sent_and_the_next_one_is(world: InProcess) -> None:
    [merchant] = world.merchants
    endpoint = new_endpoint(world, merchant.key, url="http://127.0.0.1:9/")
    for _ in range(3):
        world.data(cancel(merchant.key, world.payment(merchant)))
    event = world.data(Call("GET", EVENTS, merchant.key))["items"][0]["id"]

    def busy() -> list[Any]:
        return world.run(busy_queues(world.context.store, now=FAR, after="", limit=10))

    assert [each.endpoint.id for each in busy()] == [endpoint]
    restore(world)
    assert busy() == []
    with world.books() as books:
        [(skipped,)] = books.select("SELECT detail FROM audit WHERE action = 'webhook_endpoint.skipped'")
    assert skipped == f"account {merchant.account}, 3 events"
    told = Guest(world).signed_in(merchant.email).read(f"{home(merchant)}/activity")
    assert "Skipped events that waited when the service was restored" in told
    delivery = delivery_of(endpoint, event)
    world.data(resend(merchant.key, delivery))
    assert len(busy()) == 1, "its owner may have it sent again"
    restore(world)
    assert busy() == []
    world.data(cancel(merchant.key, world.payment(merchant)))
    assert len(busy()) == 1


def test_the_ids_of_an_epoch_are_far_from_those_of_others(world: InProcess) -> None:
    restore(world)
    person = world.act("person add", email="new@x.org", name="New", password="correct horse battery", pin="246813")
    assert person["person"] == EPOCH_ACCOUNTS + 1
    identifiers = world.context.identifiers
    assert person["account"] == str(identifiers.account_number(EPOCH_ACCOUNTS + 1))
    answer = world.send(create(world.merchants[0].key)).json()["data"]["id"]
    assert identifiers.payment_number(answer) // 10**10 == 1  # type: ignore[operator]


def test_a_start_knows_the_restores(world: InProcess) -> None:
    assert world.context.store.instance.last_restore is None
    made = [restore(world), restore(world)]
    assert [*world.context.store.instance.restores] == made
    assert world.context.store.instance.last_restore == made[-1]
    assert [each.epoch for each in made] == [1, 2]


def test_an_export_has_the_same_ids_as_the_api(world: InProcess) -> None:
    [merchant] = world.merchants
    world.paid(merchant, world.customers[0])
    restore(world)
    lift(world)
    world.paid(merchant, world.anew(world.customers[0]))
    boss = Guest(world).signed_in(merchant.email)
    lines = rows(export(boss, home(merchant), "transactions", currency="USD"))
    assert [line["transaction_id"] for line in lines][:2] == ["tr_USD_1", "tr_1_USD_2"]
    assert [each["id"] for each in walk(world, merchant.key, TRANSFERS)] == ["tr_1_USD_2", "tr_USD_1"]


def test_a_stop_of_a_database_that_was_set_back_is_lifted_after_an_epoch_alone(world: InProcess) -> None:
    how = f"{SET_BACK}: seal 7 is gone"
    world.run(world.context.engine.submit(StopMoney(1, how, "chain watch")))
    refusal = world.run(world.tried("audit lift", {"reason": "looks fine"}, 0))
    assert refusal.code == "move_not_allowed"
    assert how in refusal.detail
    assert "qirsh restored" in refusal.detail
    assert restore(world).epoch == 1
    lift(world)
    world.data(pay(world.anew(world.customers[0]), world.payment(world.merchants[0])))


def test_what_another_process_has_found_keeps_the_next_start_out(world: InProcess) -> None:
    how = f"{SET_BACK}: seal 7 is gone"
    world.run(world.context.engine.submit(StopMoney(1, how, "chain watch")))
    with pytest.raises(UnusableDatabase, match=f"{how}; .*qirsh restored"):
        world.reopen()


def test_a_process_that_has_found_a_loss_gives_out_no_more_ids(world: InProcess) -> None:
    [merchant] = world.merchants
    payment = world.payment(merchant)
    counts = world.counts()
    world.context.engine.money_stop.find(f"{SET_BACK}: test")
    answers = world.together([create(merchant.key), create(merchant.key), cancel(merchant.key, payment)])
    assert [answer.status_code for answer in answers] == [503, 503, 200]
    refused(answers[0], 503, "unavailable")
    assert world.data(Call("GET", f"/api/v1/remote-payments/{payment}", merchant.key))["status"] == "cancelled"
    assert world.counts()["payment"] == counts["payment"]


def test_nor_does_it_let_anybody_join(world: InProcess) -> None:
    join = Join(
        email="new@example.com",
        name="New",
        phone="",
        language="en",
        password_hash="-",
        token_hash=b"-",
        code_macs=(),
    )
    world.context.engine.money_stop.find(f"{SET_BACK}: test")
    with pytest.raises(StoreUnavailable, match="set back"):
        world.run(world.context.engine.submit(join))
