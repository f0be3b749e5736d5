"""Owners create, change and remove webhook endpoints, and have events sent once more."""

from typing import Final, Protocol

import msgspec

from qirsh.domain.commands.webhook import (
    CreateWebhookEndpoint,
    EndWebhookRest,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    UpdateWebhookEndpoint,
)
from qirsh.domain.counter import webhook_endpoints
from qirsh.domain.event import TYPES
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX, WEBHOOK_OVERLAP_MS_MAX, WEBHOOK_RESENT_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.domain.webhook import WebhookDelivery, WebhookEndpoint, WebhookQueue
from qirsh.domain.webhook_schedule import fresh, waiting, waiting_again


class _OfStaff(Protocol):
    """A command about an endpoint that is there."""

    @property
    def endpoint(self) -> str: ...
    @property
    def account(self) -> int: ...
    @property
    def member(self) -> int | None: ...


def create_reads(command: CreateWebhookEndpoint, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def create_locks(command: CreateWebhookEndpoint, work: UnitOfWork, keys: RowKeys) -> None:
    # The log's own counter: no event can come between what it says and the place where the endpoint begins.
    keys.event_counters.add(command.account)
    keys.counters.add(webhook_endpoints(command.account))
    keys.webhook_endpoints.add(command.id)
    keys.webhook_queues.add(command.id)
    keys.accounts.add(command.account)
    lock_live_account(work, command.account, keys)


def create(command: CreateWebhookEndpoint, work: UnitOfWork) -> WebhookEndpoint | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.kind != "commercial":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    if work.webhook_endpoints.get(command.id) is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # One form, one endpoint: its secret was shown when it came first.
    if work.counted(webhook_endpoints(account.number)) >= WEBHOOK_ENDPOINTS_MAX:
        return Refused(Refusal.TOO_MANY)
    assert command.secret_sealed
    endpoint = WebhookEndpoint(
        id=command.id,
        account=account.number,
        url=command.url,
        types=_types(command.types),
        description=command.description,
        state="enabled",
        reason="",
        secret_sealed=command.secret_sealed,
        old_secret_sealed=b"",
        old_secret_until=None,
        created_at=work.now,
        updated_at=work.now,
    )
    queue = WebhookQueue(
        endpoint=endpoint.id,
        account=account.number,
        next=_last_event(work, account.number) + 1,
        failures=0,
        resting_since=None,
        due_at=None,
        replay_next=None,
        replay_until=None,
        told="",
        told_at=None,
    )
    work.webhook_endpoints.add(endpoint.id, endpoint)
    work.webhook_queues.add(endpoint.id, queue)
    work.count(webhook_endpoints(account.number))
    _note(work, command.actor, "created", endpoint)
    return endpoint


def own_reads(command: _OfStaff, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def own_locks(command: _OfStaff, work: UnitOfWork, keys: RowKeys) -> None:
    keys.webhook_endpoints.add(command.endpoint)
    keys.accounts.add(command.account)
    lock_live_account(work, command.account, keys)


def queue_locks(command: _OfStaff, work: UnitOfWork, keys: RowKeys) -> None:
    own_locks(command, work, keys)
    keys.webhook_queues.add(command.endpoint)


def update_locks(command: UpdateWebhookEndpoint, work: UnitOfWork, keys: RowKeys) -> None:
    queue_locks(command, work, keys)
    if command.resume_at is not None:
        keys.event_counters.add(command.account)


def update(command: UpdateWebhookEndpoint, work: UnitOfWork) -> WebhookEndpoint | Refused:
    endpoint = _own(command, work)
    if type(endpoint) is Refused:
        return endpoint
    queue = _queue(work, endpoint.id)
    # Also one that only rests: its owner has mended something, and does not want to wait.
    is_woken = command.state == "enabled" and (endpoint.state != "enabled" or queue.due_at is not None)
    is_moved = command.url not in {None, endpoint.url}
    state = endpoint.state if command.state is None else command.state
    changed: WebhookEndpoint = msgspec.structs.replace(
        endpoint,
        url=endpoint.url if command.url is None else command.url,
        types=endpoint.types if command.types is None else _types(command.types),
        description=endpoint.description if command.description is None else command.description,
        state=state,
        reason=endpoint.reason if state == "stopped" else "",
    )
    if changed == endpoint and not is_woken:
        return endpoint
    changed = msgspec.structs.replace(changed, updated_at=work.now)
    work.webhook_endpoints.change(endpoint.id, changed)
    if is_woken or is_moved:
        queue = fresh(queue)
        if is_woken and command.resume_at is not None:
            # Never past the end of the log: what happens next is always sent.
            end = _last_event(work, endpoint.account) + 1
            queue = msgspec.structs.replace(queue, next=max(queue.next, min(command.resume_at, end)))
        work.webhook_queues.change(endpoint.id, queue)
    _note(work, command.actor, "updated" if state == endpoint.state else state, changed)
    return changed


def end_rest(command: EndWebhookRest, work: UnitOfWork) -> WebhookQueue | Refused:
    endpoint = _own(command, work)
    if type(endpoint) is Refused:
        return endpoint
    queue = _queue(work, endpoint.id)
    if endpoint.state == "enabled" and queue.due_at is not None:
        queue = fresh(queue)
        work.webhook_queues.change(endpoint.id, queue)
        _note(work, command.actor, "woken", endpoint)
    return queue


def remove_locks(command: RemoveWebhookEndpoint, work: UnitOfWork, keys: RowKeys) -> None:
    queue_locks(command, work, keys)
    keys.counters.add(webhook_endpoints(command.account))


def remove(command: RemoveWebhookEndpoint, work: UnitOfWork) -> WebhookEndpoint | Refused:
    """Also for an account that may not act: it takes nothing but rights away."""
    endpoint = _named(command, work)
    if endpoint is None:
        return Refused(Refusal.NOT_FOUND)
    removed: WebhookEndpoint = msgspec.structs.replace(
        endpoint,
        state="removed",
        reason="",
        secret_sealed=b"",
        old_secret_sealed=b"",
        old_secret_until=None,
        updated_at=work.now,
    )
    work.webhook_endpoints.change(endpoint.id, removed)
    work.webhook_queues.remove(endpoint.id)
    work.count(webhook_endpoints(endpoint.account), -1)
    _note(work, command.actor, "removed", endpoint)
    return removed


def rotate(command: RotateWebhookSecret, work: UnitOfWork) -> WebhookEndpoint | Refused:
    endpoint = _own(command, work)
    if type(endpoint) is Refused:
        return endpoint
    assert command.secret_sealed
    assert 0 <= command.overlap_ms <= WEBHOOK_OVERLAP_MS_MAX
    rotated: WebhookEndpoint = msgspec.structs.replace(
        endpoint,
        secret_sealed=command.secret_sealed,
        old_secret_sealed=endpoint.secret_sealed if command.overlap_ms else b"",
        old_secret_until=work.now + command.overlap_ms if command.overlap_ms else None,
        updated_at=work.now,
    )
    work.webhook_endpoints.change(endpoint.id, rotated)
    _note(work, command.actor, "rotated", endpoint)
    return rotated


def replay(command: StartReplay, work: UnitOfWork) -> WebhookQueue | Refused:
    endpoint = _own(command, work)
    if type(endpoint) is Refused:
        return endpoint
    queue = _queue(work, endpoint.id)
    if queue.replay_next is not None:
        return Refused(Refusal.REPLAY_RUNNING)
    assert command.first >= 1
    # What has not had its first turn comes anyway.
    until = min(command.until, queue.next - 1)
    if command.first <= until:
        queue = msgspec.structs.replace(queue, replay_next=command.first, replay_until=until)
        work.webhook_queues.change(endpoint.id, queue)
    _note(work, command.actor, "replayed", endpoint, f"events {command.first} to {until}")
    return queue


def resend_locks(command: ResendDeliveries, work: UnitOfWork, keys: RowKeys) -> None:
    queue_locks(command, work, keys)
    keys.webhook_deliveries.update((command.endpoint, sequence) for sequence in command.sequences)


def resend(command: ResendDeliveries, work: UnitOfWork) -> tuple[WebhookDelivery, ...] | Refused:
    endpoint = _own(command, work)
    if type(endpoint) is Refused:
        return endpoint
    assert len(command.sequences) <= WEBHOOK_RESENT_MAX
    queue = _queue(work, endpoint.id)
    resent = send_again(work, queue, command.sequences)
    if resent and queue.due_at is not None and queue.due_at > work.now:  # It rests, and its owner wants a try now.
        work.webhook_queues.change(endpoint.id, msgspec.structs.replace(queue, due_at=work.now))
    _note(work, command.actor, "resent", endpoint, f"{len(resent)} events")
    return resent


def send_again(work: UnitOfWork, queue: WebhookQueue, sequences: tuple[int, ...]) -> tuple[WebhookDelivery, ...]:
    """Those of these events that have had their first turn wait to be sent, with the whole schedule before them."""
    again = []
    for sequence in dict.fromkeys(sequences):
        before = work.webhook_deliveries.get((queue.endpoint, sequence))
        if before is None and sequence >= queue.next:
            continue
        row = waiting(queue.endpoint, sequence, work.now) if before is None else waiting_again(before, work.now)
        work.webhook_deliveries.put((queue.endpoint, sequence), row)
        again.append(row)
    return tuple(again)


def _named(command: _OfStaff, work: UnitOfWork) -> WebhookEndpoint | None:
    """Of this account, and not removed. All else is not there, to whoever asks."""
    account, endpoint = work.accounts.get(command.account), work.webhook_endpoints.get(command.endpoint)
    if account is None or endpoint is None or endpoint.account != account.number or endpoint.state == "removed":
        return None
    return endpoint


def _own(command: _OfStaff, work: UnitOfWork) -> WebhookEndpoint | Refused:
    """The same, if its account may act."""
    endpoint = _named(command, work)
    if endpoint is None:
        return Refused(Refusal.NOT_FOUND)
    account = work.accounts.get(endpoint.account)
    assert account is not None, "an endpoint without its account"
    why = why_not_acting(work, account)
    return Refused(why) if why else endpoint


def _queue(work: UnitOfWork, endpoint: str) -> WebhookQueue:
    queue = work.webhook_queues.get(endpoint)
    assert queue is not None, "an endpoint without its queue"
    return queue


def _last_event(work: UnitOfWork, account: int) -> int:
    counter = work.event_counters.get(account)
    return counter.last if counter else 0


def _types(types: tuple[str, ...]) -> str:
    assert set(types) <= set(TYPES), types
    return " ".join(types)


def _note(work: UnitOfWork, actor: str, action: str, endpoint: WebhookEndpoint, detail: str = "") -> None:
    told = f"account {endpoint.account}" + (f", {detail}" if detail else "")
    work.note(actor, f"webhook_endpoint.{action}", f"webhook endpoint {endpoint.id}", told)


RULES: Final[Rules] = {
    CreateWebhookEndpoint: by_member(Rule(create, lock=create_locks, read_first=create_reads), Right.INTEGRATE),
    UpdateWebhookEndpoint: by_member(Rule(update, lock=update_locks, read_first=own_reads), Right.INTEGRATE),
    EndWebhookRest: by_member(Rule(end_rest, lock=queue_locks, read_first=own_reads), Right.INTEGRATE),
    RemoveWebhookEndpoint: by_member(Rule(remove, lock=remove_locks, read_first=own_reads), Right.INTEGRATE),
    RotateWebhookSecret: by_member(Rule(rotate, lock=own_locks, read_first=own_reads), Right.INTEGRATE),
    StartReplay: by_member(Rule(replay, lock=queue_locks, read_first=own_reads), Right.INTEGRATE),
    ResendDeliveries: by_member(Rule(resend, lock=resend_locks, read_first=own_reads), Right.INTEGRATE),
}
