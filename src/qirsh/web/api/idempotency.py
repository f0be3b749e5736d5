"""A caller's Idempotency-Key: how one is read, and what an answer that was given before looks like."""

from qirsh.domain.idempotency import IdempotencyKey, fingerprint
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import REPLAYED, Headers, Request, idempotency_key


def idempotency_key_of(context: Context, request: Request, caller: Caller, body: bytes) -> IdempotencyKey | None:
    """What makes this request itself; None when no key was sent. `told` is the body without its secrets."""
    key = idempotency_key(request)
    if key is None:
        return None
    mark = fingerprint(context.identifiers.fingerprint_key, b"POST", request.path.encode(), body)
    return IdempotencyKey(caller.account, key, mark)


def replay_header(*, is_replayed: bool) -> Headers:
    """Says that the answer was given before."""
    return [REPLAYED] if is_replayed else []
