"""A caller's Idempotency-Key: how one is read, and what an answer that was given before looks like."""

from qirsh.domain.batch import Answer
from qirsh.domain.idempotency import IdempotencyKey, fingerprint, is_expired
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import REPLAYED, Headers, Request, idempotency_key
from qirsh.web.http.problems import to_problem


def idempotency_key_of(context: Context, request: Request, caller: Caller, body: bytes) -> IdempotencyKey | None:
    """What makes this request itself; None when no key was sent. The body is told without its secrets."""
    key = idempotency_key(request)
    if key is None:
        return None
    mark = fingerprint(context.identifiers.fingerprint_key, b"POST", request.path.encode(), body)
    return IdempotencyKey(caller.account, key, mark)


async def stored_answer(context: Context, key: IdempotencyKey | None) -> Answer | None:
    """What this very request was answered with before, for calls that look at more than what the rules decide on.

    A name that leads nowhere by now, or a time that has become too old, must not hide what was done.
    """
    before = None if key is None else await context.store.find(Tables.stored_responses, (key.account, key.key))
    if key is None or before is None or is_expired(before, context.clock()):
        return None
    if before.fingerprint != key.fingerprint:
        raise to_problem(Refused(Refusal.IDEMPOTENCY_KEY_REUSED))
    return Answer(before.status, before.body, replayed=True)


def replay_header(*, is_replayed: bool) -> Headers:
    """Says that the answer was given before."""
    return [REPLAYED] if is_replayed else []
