"""After a restore no id is given twice, nothing goes out twice, nobody is in, and money waits for people."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.commands.access import ResetPin
from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.commands.login_credentials import StartChallenge
from qirsh.domain.commands.operator_session import OpenOperatorSession
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.commands.webhook import ResendDeliveries
from qirsh.domain.counter import ACCOUNT, NOTIFIED, PERSON, Counter
from qirsh.domain.limits import EPOCH_ACCOUNTS, EPOCHS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.restore import Restore, epoch_of
from qirsh.domain.stop import SET_BACK, Stop
from tests.domain.market import Market
from tests.domain.restore_cases import restoring
from tests.domain.webhook_cases import creating, happen
from tests.domain.world import attested, newest
from tests.store.filled_shop import fill_in_webhooks

TAKEN_AT = 1_799_999_999_000
WHY = "restored to 2027-01-15T07:59:59Z"


@pytest.fixture
def market() -> Market:
    return Market()


def restore(market: Market, **changes: Any) -> Restore:  # noqa: ANN401 - the fields of the command
    made: Restore = market.do(restoring(market, **changes))
    return made


def test_an_epoch_begins_and_says_where_the_database_ended(market: Market) -> None:
    transfers = len(market.transfers)
    made = restore(market)
    assert made == Restore(1, TAKEN_AT, market.now, transfers, 0, "os user root")
    assert market.restores == {1: made}
    assert market.constants["epoch"].value == b"1"
    assert market.audit[-1] == AuditEntry(market.now, "os user root", "database.restored", "restore 1", WHY)


def test_accounts_and_people_are_counted_from_where_no_epoch_has_been(market: Market) -> None:
    for epoch in (1, 2):
        assert restore(market).epoch == epoch
        person = market.do(AddPerson(email=f"{epoch}@example.com", name="New", password_hash="-", actor="test"))
        assert person.id == epoch * EPOCH_ACCOUNTS + 1
        assert person.account == market.identifiers.account_number(epoch * EPOCH_ACCOUNTS + 1)


def test_the_last_epoch_has_numbers_for_its_accounts(market: Market) -> None:
    assert market.identifiers.account_number(EPOCHS_MAX * EPOCH_ACCOUNTS - 1)
    with pytest.raises(AssertionError):
        market.identifiers.account_number(EPOCHS_MAX * EPOCH_ACCOUNTS)
    assert restore(market, epoch_above=EPOCHS_MAX - 2).epoch == EPOCHS_MAX - 1
    with pytest.raises(AssertionError):
        restore(market)


def test_a_copy_that_was_restored_before_begins_an_epoch_that_has_not_been(market: Market) -> None:
    again = market.fork()
    assert restore(market).epoch == 1
    assert restore(again, epoch_above=1).epoch == 2
    assert again.counters[PERSON] == Counter(PERSON, 2 * EPOCH_ACCOUNTS)


def test_no_counter_goes_back(market: Market) -> None:
    market.counters[ACCOUNT] = Counter(ACCOUNT, 7 * EPOCH_ACCOUNTS)
    market.counters[NOTIFIED] = Counter(NOTIFIED, 9)
    restore(market)
    assert market.counters[ACCOUNT].last == 7 * EPOCH_ACCOUNTS
    assert market.counters[NOTIFIED].last == 9


def test_a_clock_of_another_machine_that_is_ahead_takes_no_copy_of_the_future(market: Market) -> None:
    assert restore(market, taken_at=market.now + 5000).taken_at == market.now


def test_nobody_is_signed_in_any_more_and_the_credential_log_knows(market: Market) -> None:
    for token in (b"1" * 32, b"2" * 32):
        market.do(OpenSession(token, market.customer.id, market.customer.account, "test"))
    market.do(
        OpenOperatorSession(
            hash=bytes(32),
            person=market.second.id,
            operator=market.second.id,
            actor="test",
            address="192.0.2.7",
            email="operator.two@example.com",
            totp_step=2**40,
        )
    )
    revocations = market.counters["revocation"].last if "revocation" in market.counters else 0
    restore(market, sessions=(b"1" * 32,))
    assert [*market.sessions] == [b"2" * 32]  # What was over by itself need not go.
    assert market.operator_sessions == {}
    assert newest(market.credentials) == attested(market)
    assert market.counters["revocation"].last > revocations


def test_what_was_mailed_or_waits_to_be_is_gone(market: Market) -> None:
    letter = Letter("letter", b"sealed")
    market.do(StartChallenge("reset", "customer@example.com", None, b"s" * 32, b"mac", (letter,)))
    assert (len(market.mails), len(market.challenges)) == (1, 1)
    restore(market)
    assert (market.mails, market.challenges) == ({}, {})


def test_what_a_person_may_have_said_no_to_is_not_set_back(market: Market) -> None:
    agreed = market.agree(ResetPin(market.customer.id))
    restore(market)
    assert market.pending_resets[market.customer.id, "pin"].state == "kept"
    kept = AuditEntry(market.now, "os user root", "access.kept", f"person {market.customer.id}", f"pin, {agreed.id}")
    assert kept in market.audit


def test_a_role_is_free_at_once(market: Market) -> None:
    market.do(HoldLease("sweeper", "a process that is gone", 1000))
    assert not market.do(HoldLease("sweeper", "another", 1000))
    restore(market)
    assert market.do(HoldLease("sweeper", "another", 1000))


def test_webhooks_begin_after_the_last_event_and_nothing_waits(market: Market) -> None:
    shop = fill_in_webhooks(market)
    before = dict(market.webhook_queues)
    owed = {key for key, row in market.webhook_deliveries.items() if row.state == "waiting"}
    assert len(owed) > 2
    assert before["we_1"].replay_next is not None
    assert before["we_resting"].resting_since is not None
    restore(market)
    for queue in market.webhook_queues.values():
        assert queue.next == market.event_counters[queue.account].last + 1
        assert (queue.failures, queue.resting_since, queue.due_at) == (0, None, None)
        assert (queue.replay_next, queue.replay_until) == (None, None)
    assert {row.state for row in market.webhook_deliveries.values()} <= {"delivered", "failed"}
    entries = [entry for entry in market.audit if entry.action == "webhook_endpoint.skipped"]
    unsent = before["we_1"].next, sum(endpoint == "we_1" for endpoint, _ in owed)
    skipped = market.webhook_queues["we_1"].next - unsent[0] + unsent[1]
    assert (
        AuditEntry(
            market.now,
            "service",
            "webhook_endpoint.skipped",
            "webhook endpoint we_1",
            f"account {shop}, {skipped} events",
        )
        in entries
    )
    restore(market)
    assert [entry for entry in market.audit if entry.action == "webhook_endpoint.skipped"] == entries, "nothing waits"


def test_an_event_that_had_arrived_and_was_to_be_sent_again_counts_as_arrived(market: Market) -> None:
    shop = fill_in_webhooks(market)
    arrived = market.webhook_deliveries["we_1", 1]
    assert arrived.state == "delivered"
    market.do(ResendDeliveries("we_1", shop, (1,), "test"))
    restore(market)
    assert market.webhook_deliveries["we_1", 1] == msgspec.structs.replace(arrived, step=0)


def test_owners_hear_only_of_what_endpoints_do_from_now_on(market: Market) -> None:
    market.do(creating(market.shop))
    happen(market, 1, market.shop)
    market.change("webhook_queues", "we_1", told="failing", told_at=7, failures=9, resting_since=3, due_at=4)
    stopped = market.fork()
    stopped.change("webhook_endpoints", "we_1", state="stopped", reason="gone")
    restore(market)
    queue = market.webhook_queues["we_1"]
    assert (queue.told, queue.told_at) == ("", None), "it does not work again: nobody knows"
    restore(stopped)
    queue = stopped.webhook_queues["we_1"]
    assert (queue.told, queue.told_at) == ("stopped", stopped.now)


def test_an_event_after_it_is_sent(market: Market) -> None:
    market.do(creating(market.shop))
    happen(market, 2, market.shop)
    restore(market)
    happen(market, 1, market.shop)
    assert market.webhook_queues["we_1"].next == market.event_counters[market.shop].last


def test_money_stands_still_until_two_operators_lift_the_stop(market: Market) -> None:
    payment = market.create()
    restore(market)
    assert market.stops == {1: Stop(1, market.now, WHY)}
    assert market.refuse(market.pay(payment)) == Refused(Refusal.MONEY_STOPPED)
    market.agree(LiftStop(1))
    market.do(market.pay(payment))


def test_a_stop_that_is_open_stays_and_the_entry_says_so(market: Market) -> None:
    market.do(StopMoney(1, "a sum is wrong", "auditor"))
    restore(market)
    assert market.stops == {1: Stop(1, market.now, "a sum is wrong")}
    assert market.audit[-1].detail == f"{WHY}, while stop 1 was open"
    market.agree(LiftStop(1))
    restore(market)
    assert market.stops[2] == Stop(2, market.now, WHY)


def test_a_stop_of_a_database_that_was_set_back_waits_for_an_epoch(market: Market) -> None:
    restore(market)  # Of an earlier time: it does not count.
    market.epoch = 1
    market.agree(LiftStop(1))
    market.now += 1
    market.do(StopMoney(2, f"{SET_BACK}: seal 7 is gone", "chain watch"))
    assert market.refuse(market.propose(LiftStop(2))) == Refused(Refusal.MOVE_NOT_ALLOWED)
    restore(market)
    market.epoch = 2
    market.agree(LiftStop(2))
    assert market.stops[2].lifted_at == market.now


def test_the_epoch_of_a_transfer_is_that_of_the_last_restore_before_it() -> None:
    def at(epoch: int, last: int) -> Restore:
        return Restore(epoch, 0, 0, last, 0, "root")

    assert [epoch_of(each, ()) for each in (1, 2**62)] == [0, 0]
    restores = (at(1, 10), at(2, 10), at(5, 20))  # Two in a row, with nothing between them.
    assert [epoch_of(each, restores) for each in (1, 10, 11, 20, 21)] == [0, 0, 2, 2, 5]
