"""A batch: commands that share a commit."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from qirsh.domain.command import Command
from qirsh.domain.decide import RULES
from qirsh.domain.idempotency import IdempotencyKey, StoredResponse, is_expired
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


class Answer(msgspec.Struct, frozen=True):
    """What a face will say of something done: status and bytes, ready to be remembered in the same commit."""

    status: int
    body: bytes
    replayed: bool = False


class Submission(msgspec.Struct, frozen=True, eq=False):
    """A command, and how its caller wants to hear of it."""

    command: Command[Any]
    idempotency_key: IdempotencyKey | None = None
    render: Callable[[Any, UnitOfWork], Answer] | None = None


class Batch:
    """Commands on their way through one transaction, and their outcomes once they are decided.

    All reads come before any rule, and no rule waits for anything. A command sees the effects of those before it; a
    refusal is an outcome, and never harms its neighbours.
    """

    __slots__ = ("_is_money_stopped", "outcomes", "submissions")

    def __init__(self, submissions: Sequence[Submission], is_money_stopped: Callable[[], bool] = lambda: False) -> None:
        self.submissions = submissions
        self._is_money_stopped = is_money_stopped
        self.outcomes: list[Any] = []  # Each has its command's type.

    def __len__(self) -> int:
        """How many commands, and so at most how many new payments."""
        return len(self.submissions)

    def keys_to_read(self) -> RowKeys:
        """Rows to read first, without locks; only what never changes in them is relied upon."""
        keys = RowKeys()
        for submission in self.submissions:
            RULES[type(submission.command)].read_first(submission.command, keys)
        return keys

    def keys_to_lock(self, work: UnitOfWork) -> RowKeys:
        """The rows that it is decided on."""
        keys = RowKeys()
        for submission in self.submissions:
            if submission.idempotency_key is not None:
                keys.stored_responses.add((submission.idempotency_key.account, submission.idempotency_key.key))
            RULES[type(submission.command)].lock(submission.command, work, keys)
        return keys

    def decide(self, work: UnitOfWork) -> None:
        """Carry it out in order, in memory. The store may call this again after it has rolled back."""
        work.is_money_stopped = self._is_money_stopped()
        self.outcomes = [_decide(submission, work) for submission in self.submissions]
        work.attest()


def _decide(submission: Submission, work: UnitOfWork) -> object:
    """A result, an answer, or a refusal."""
    key = submission.idempotency_key
    if key is not None:
        before = work.stored_responses.get((key.account, key.key))
        if before is not None and not is_expired(before, work.now):
            if before.fingerprint != key.fingerprint:
                return Refused(Refusal.IDEMPOTENCY_KEY_REUSED)
            return Answer(before.status, before.body, replayed=True)
    rule = RULES[type(submission.command)]
    if rule.moves_money and work.is_money_stopped:
        return Refused(Refusal.MONEY_STOPPED)
    outcome = rule.decide(submission.command, work)
    if submission.render is None or type(outcome) is Refused:
        return outcome
    answer = submission.render(outcome, work)
    if key is not None:
        work.stored_responses.put(
            (key.account, key.key),
            StoredResponse(key.account, key.key, key.fingerprint, answer.status, answer.body, work.now),
        )
    return answer
