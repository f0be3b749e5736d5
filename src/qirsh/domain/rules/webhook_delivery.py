"""What the sender found out is recorded, replays go on, owners are told, and old deliveries are forgotten."""

from typing import Final

import msgspec

from qirsh.domain.commands.webhook import ForgetDeliveries, RecordWebhookResults, TellWebhookOwner, TurnReplayPage
from qirsh.domain.limits import WEBHOOK_FORGOTTEN_AT_ONCE, WEBHOOK_RESENT_MAX, WEBHOOK_RESULTS_AT_ONCE
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.webhook_endpoint import send_again
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.domain.webhook import DeliveryKey, StopReason, WebhookQueue, WebhookResult
from qirsh.domain.webhook_schedule import after_result, after_try, former_try, is_news, waiting


def record_locks(command: RecordWebhookResults, _work: UnitOfWork, keys: RowKeys) -> None:
    # The queue is held by whoever adds a delivery: of two senders, the second sees what the first has recorded.
    endpoints = {result.endpoint for result in command.results} | {endpoint for endpoint, *_ in command.places}
    keys.webhook_endpoints.update(endpoints)
    keys.webhook_queues.update(endpoints)
    keys.webhook_deliveries.update((result.endpoint, result.sequence) for result in command.results)


def record(command: RecordWebhookResults, work: UnitOfWork) -> int:
    assert len(command.results) <= WEBHOOK_RESULTS_AT_ONCE
    news = sum(_record(result, work) for result in command.results)
    for endpoint, place, types in command.places:
        queue, current = work.webhook_queues.get(endpoint), work.webhook_endpoints.get(endpoint)
        if queue is not None and current is not None and current.types == types and place > queue.next:
            work.webhook_queues.change(endpoint, msgspec.structs.replace(queue, next=place))
    return news


def _record(result: WebhookResult, work: UnitOfWork) -> bool:
    """Whether it was news. What came of a removed endpoint, nobody wants to know."""
    queue = work.webhook_queues.get(result.endpoint)
    if queue is None:
        return False
    key = (result.endpoint, result.sequence)
    before = work.webhook_deliveries.get(key)
    if not is_news(before, result):
        return False
    row = before or waiting(*key, min(result.at, work.now))  # It is recorded a moment later.
    if former := former_try(row):
        work.webhook_attempts.append(former)
    work.webhook_deliveries.put(key, after_try(row, result))
    after, why_stop = after_result(queue, result, is_first_try=row.step == 0, now=work.now)
    if after != queue:  # Mostly nothing changes: one success after another.
        work.webhook_queues.change(queue.endpoint, after)
    if why_stop:
        _stop(work, queue, why_stop)
    return True


def _stop(work: UnitOfWork, queue: WebhookQueue, why: StopReason) -> None:
    """Until its owner enables it again; its place in the log is kept."""
    endpoint = work.webhook_endpoints.get(queue.endpoint)
    assert endpoint is not None, "a queue without its endpoint"
    if endpoint.state != "enabled":
        return
    stopped = msgspec.structs.replace(endpoint, state="stopped", reason=why, updated_at=work.now)
    work.webhook_endpoints.change(endpoint.id, stopped)
    subject, detail = f"webhook endpoint {endpoint.id}", f"account {endpoint.account}, {why}"
    work.note("service", "webhook_endpoint.stopped", subject, detail)


def turn_locks(command: TurnReplayPage, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.webhook_queues.add(command.endpoint)
    keys.webhook_deliveries.update((command.endpoint, sequence) for sequence in command.sequences)


def turn(command: TurnReplayPage, work: UnitOfWork) -> int:
    assert len(command.sequences) <= WEBHOOK_RESENT_MAX
    queue = work.webhook_queues.get(command.endpoint)
    if queue is None or queue.replay_next is None or queue.replay_until is None or command.next <= queue.replay_next:
        return 0  # Removed, or another sender has turned this page.
    end = min(command.next, queue.replay_until + 1)
    due = tuple(sequence for sequence in command.sequences if queue.replay_next <= sequence < end)
    is_over = end > queue.replay_until
    turned = msgspec.structs.replace(
        queue, replay_next=None if is_over else end, replay_until=None if is_over else queue.replay_until
    )
    work.webhook_queues.change(queue.endpoint, turned)
    return len(send_again(work, queue, due))


def tell_locks(command: TellWebhookOwner, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.webhook_queues.add(command.endpoint)


def tell(command: TellWebhookOwner, work: UnitOfWork) -> bool:
    queue = work.webhook_queues.get(command.endpoint)
    if queue is None or queue.told == command.told:
        return False
    work.webhook_queues.change(queue.endpoint, msgspec.structs.replace(queue, told=command.told, told_at=work.now))
    work.post(command.letters)
    return True


def forget_locks(command: ForgetDeliveries, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.webhook_queues.update(endpoint for endpoint, _ in command.keys)
    keys.webhook_deliveries.update(command.keys)


def forget(command: ForgetDeliveries, work: UnitOfWork) -> int:
    assert len(command.keys) <= WEBHOOK_FORGOTTEN_AT_ONCE
    forgotten: set[DeliveryKey] = set()
    for key in command.keys:
        delivery = work.webhook_deliveries.get(key)
        # It may have been resent since it was found. Without a queue its endpoint is removed, and nothing is sent.
        is_owed = delivery is not None and delivery.state == "waiting" and work.webhook_queues.get(key[0]) is not None
        if delivery is not None and not is_owed:
            work.webhook_deliveries.remove(key)
            forgotten.add(key)
    # The database forgets the tries that it has; those of this very batch are not there yet.
    left = [each for each in work.webhook_attempts if (each.endpoint, each.sequence) not in forgotten]
    work.webhook_attempts[:] = left
    return len(forgotten)


RULES: Final[Rules] = {
    RecordWebhookResults: Rule(record, lock=record_locks),
    TurnReplayPage: Rule(turn, lock=turn_locks),
    TellWebhookOwner: Rule(tell, lock=tell_locks),
    ForgetDeliveries: Rule(forget, lock=forget_locks),
}
