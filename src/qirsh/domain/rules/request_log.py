"""Requests are written down and forgotten; of each key the last use is known."""

from typing import Final

from qirsh.domain.commands.request_log import ForgetRequests, RecordRequests
from qirsh.domain.limits import REQUESTS_AT_ONCE
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def record_requests_locks(command: RecordRequests, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logged_requests.update(request.id for request in command.requests)
    keys.key_uses.update(use.key for use in command.uses)


def record_requests(command: RecordRequests, work: UnitOfWork) -> int:
    assert len(command.requests) <= REQUESTS_AT_ONCE
    # Told again by who did not hear that it was written down.
    news = [request for request in command.requests if work.logged_requests.get(request.id) is None]
    for request in news:
        work.logged_requests.add(request.id, request)
    for use in command.uses:
        before = work.key_uses.get(use.key)
        if before is None or before.at < use.at:  # Another process may have seen a later one.
            work.key_uses.put(use.key, use)
    return len(news)


def forget_requests_locks(command: ForgetRequests, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logged_requests.update(command.ids)


def forget_requests(command: ForgetRequests, work: UnitOfWork) -> int:
    assert len(command.ids) <= REQUESTS_AT_ONCE
    found = [each for each in command.ids if work.logged_requests.get(each) is not None]
    for each in found:
        work.logged_requests.remove(each)
    return len(found)


RULES: Final[Rules] = {
    RecordRequests: Rule(record_requests, lock=record_requests_locks),
    ForgetRequests: Rule(forget_requests, lock=forget_requests_locks),
}
