"""After a restore nothing is given out, sent or believed a second time, and money waits for people."""

from collections import Counter as Tally
from typing import Final

import msgspec

from qirsh.domain.commands.restore import RecordRestore
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.constant import EPOCH, Constant
from qirsh.domain.counter import ACCOUNT, NOTIFIED, PERSON, REVOCATION, Counter
from qirsh.domain.limits import EPOCH_ACCOUNTS, EPOCHS_MAX
from qirsh.domain.restore import Restore, restored_to
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.stop import stop
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.domain.webhook import WebhookQueue
from qirsh.domain.webhook_schedule import fresh


def record_locks(command: RecordRestore, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.constants.add(EPOCH)
    keys.counters.update({ACCOUNT, PERSON, NOTIFIED, REVOCATION})
    keys.stops.update({command.last_stop, command.last_stop + 1})
    keys.sessions.update(command.sessions)
    keys.operator_sessions.update(command.operator_sessions)
    keys.challenges.update(command.challenges)
    keys.pending_resets.update(command.resets)
    keys.mails.update(command.mails)
    keys.leases.update(command.leases)
    keys.event_counters.update(account for _, account in command.queues)
    endpoints = {endpoint for endpoint, _ in command.queues}
    keys.webhook_endpoints.update(endpoints)
    keys.webhook_queues.update(endpoints)
    keys.webhook_deliveries.update(command.deliveries)


def record(command: RecordRestore, work: UnitOfWork) -> Restore:
    constant = work.constants.get(EPOCH)
    assert constant is not None, "a database without its epoch"
    epoch = max(int(constant.value), command.epoch_above) + 1
    assert epoch < EPOCHS_MAX, "all epochs are used up"
    restore = Restore(
        epoch=epoch,
        taken_at=min(command.taken_at, work.now),  # Another machine's clock may be ahead.
        restored_at=work.now,
        last_transfer=command.last_transfer,
        last_seal=command.last_seal,
        done_by=command.done_by,
    )
    work.constants.change(EPOCH, Constant(EPOCH, b"%d" % epoch))
    work.restores.add(epoch, restore)
    _jump(work, ACCOUNT, epoch * EPOCH_ACCOUNTS)
    _jump(work, PERSON, epoch * EPOCH_ACCOUNTS)
    _jump(work, NOTIFIED, restore.last_seal)
    _end_access(command, work)
    for mail in command.mails:
        work.mails.remove(mail)
    for role in command.leases:
        lease = work.leases.get(role)
        if lease is not None and lease.until > work.now:
            work.leases.change(role, msgspec.structs.replace(lease, until=work.now))
    _end_deliveries(command, work)
    reason = restored_to(restore.taken_at)
    is_stopped_before = stop(StopMoney(command.last_stop + 1, reason, command.done_by), work) is None
    before = f", while stop {command.last_stop} was open" if is_stopped_before else ""
    work.note(command.done_by, "database.restored", f"restore {epoch}", reason + before)
    return restore


def _jump(work: UnitOfWork, name: str, last: int) -> None:
    """A counter never goes back."""
    if last > work.counted(name):
        work.counters.put(name, Counter(name, last))


def _end_access(command: RecordRestore, work: UnitOfWork) -> None:
    """Who had signed out since, or been shut out, must not be in again.

    Nor is a PIN or a second factor set back: its owner may have said no.
    """
    for session in command.sessions:
        work.sessions.remove(session)
    for person in command.operator_sessions:
        work.operator_sessions.remove(person)
    for challenge in command.challenges:
        work.challenges.remove(challenge)
    work.count(REVOCATION)
    for key in command.resets:
        reset = work.pending_resets.get(key)
        if reset is not None and reset.state == "waits":
            work.pending_resets.change(key, msgspec.structs.replace(reset, state="kept"))
            work.note(command.done_by, "access.kept", f"person {reset.person}", f"{reset.what}, {reset.proposal}")


def _end_deliveries(command: RecordRestore, work: UnitOfWork) -> None:
    """What waited may have been sent since. Its receivers can have it sent again; nobody can take it back."""
    waited: Tally[str] = Tally()
    for key in command.deliveries:
        delivery = work.webhook_deliveries.get(key)
        if delivery is None or delivery.state != "waiting":
            continue
        waited[delivery.endpoint] += 1
        if delivery.attempts and not delivery.reason:  # It had arrived, and was to be sent again.
            arrived = msgspec.structs.replace(delivery, state="delivered", due_at=None)
            work.webhook_deliveries.change(key, arrived)
        else:
            work.webhook_deliveries.remove(key)
    for endpoint, account in command.queues:
        queue = work.webhook_queues.get(endpoint)
        if queue is None:
            continue
        counter = work.event_counters.get(account)
        begun = _begun_anew(work, queue, next=(counter.last if counter else 0) + 1)
        if begun != queue:
            work.webhook_queues.change(endpoint, begun)
        if skipped := begun.next - queue.next + waited[endpoint]:
            detail = f"account {account}, {skipped} events"
            work.note("service", "webhook_endpoint.skipped", f"webhook endpoint {endpoint}", detail)


def _begun_anew(work: UnitOfWork, queue: WebhookQueue, *, next: int) -> WebhookQueue:  # noqa: A002 - the queue's own word
    """Its owner is told of how it fares from now on, and not of what they may have heard."""
    endpoint = work.webhook_endpoints.get(queue.endpoint)
    assert endpoint is not None, "a queue without its endpoint"
    is_stopped = endpoint.state == "stopped"
    told_at = (queue.told_at if queue.told == "stopped" else work.now) if is_stopped else None
    begun: WebhookQueue = msgspec.structs.replace(
        fresh(queue),
        next=next,
        replay_next=None,
        replay_until=None,
        told="stopped" if is_stopped else "",
        told_at=told_at,
    )
    return begun


RULES: Final[Rules] = {
    RecordRestore: Rule(record, lock=record_locks),
}
