"""Between the steps of a sign-in: whose password was right, while the code of two-step verification is asked for."""

import hashlib
from typing import Final

import msgspec

from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.web.html.cookies import PENDING_2FA
from qirsh.web.html.page_context import PageContext
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Context

CODE_PAGE: Final = "/sign-in/code"
_PENDING_MS: Final = 5 * 60_000


class PendingLogin(msgspec.Struct, frozen=True):
    """A person has proved the password, and the code is still to come."""

    email: str
    password: str  # A hash of the hash: with another password this proves nothing any more.
    until: int


def keep_pending_login(context: Context, login: Login) -> tuple[bytes, bytes]:
    """The cookie of the browser that has proved the password."""
    pending = PendingLogin(login.email, _print(login), context.clock() + _PENDING_MS)
    return keep(context, PENDING_2FA, pending)


async def find_pending_login(page: PageContext) -> Login | None:
    """Whose password this browser has proved a moment ago; None if nobody's, or another password is set since."""
    context = page.context
    pending = kept(context, page.request, PENDING_2FA, PendingLogin)
    if pending is None or pending.until <= context.clock():
        return None
    login = await context.store.find(Tables.logins, pending.email)
    return login if login is not None and _print(login) == pending.password else None


def _print(login: Login) -> str:
    return hashlib.sha256(login.password_hash.encode()).hexdigest()
