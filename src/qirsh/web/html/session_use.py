"""When a session was last used: a sealed cookie beside the session's own, so that no use is written to the database.

A session that was not used for a while is idle: it shows what it showed before, and moves no money. Using it then does
not help, and neither does the cookie of another session or of an earlier use.
"""

import msgspec

from qirsh.domain.limits import SESSION_IDLE_MS, SESSION_USE_KEPT_MS
from qirsh.web.html.cookies import SESSION_USE
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response


class SessionUse(msgspec.Struct, frozen=True):
    """What its browser keeps."""

    session: str  # The hash of its token.
    at: int


def use_session(context: Context, request: Request, caller: Caller) -> bool:
    """Whether the session may move money. If so this is a use of it, and the answer tells the browser if it is time."""
    now = context.clock()
    used_at = caller.created_at
    if now - used_at > SESSION_USE_KEPT_MS:
        use = kept(context, request, SESSION_USE, SessionUse)
        if use is not None and use.session == caller.token_hash.hex():
            used_at = max(used_at, use.at)
    if now - used_at > SESSION_IDLE_MS:
        return False
    if now - used_at > SESSION_USE_KEPT_MS:
        request.used_session = caller.token_hash
    return True


def keep_session_use(context: Context, request: Request, response: Response) -> None:
    """With whatever the answer is."""
    use = SessionUse(request.used_session.hex(), context.clock())
    response.headers = [*response.headers, keep(context, SESSION_USE, use)]
