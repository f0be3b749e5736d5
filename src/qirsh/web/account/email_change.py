"""The link that was mailed to a new address. The person who asked for it confirms, and then signs in with it."""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Challenge
from qirsh.domain.commands.login_credentials import ChangeEmail
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.email_challenge import find_challenge
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.totp import seal_seed, unseal_seed
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem

_PURPOSE: Final = "email"
_AFTER: Final = "/wallet/settings"


async def show_email_confirmation(context: Context, request: Request) -> Response:
    """What would change. Opening the link changes nothing."""
    page = await page_context_of(context, request)
    if page.caller is None:
        # The same for a good and a dead link: whose it is, only the one who asked may see.
        return page.render("account/email_sign_in.html")
    challenge = await _own_challenge(page)
    return _dead_page(page) if challenge is None else _page(page, challenge)


async def confirm_email(context: Context, request: Request) -> Response:
    """The new address, to which this very link was mailed. The old one is told."""
    page, link = await page_context_of(context, request), request.arguments["token"]
    page.form(_PURPOSE, bound=(link,))
    challenge = await _own_challenge(page)
    if challenge is None:
        return _dead_page(page)
    person = await context.store.find(Tables.people, page.person)
    [(old_email,)] = await context.store.select(EMAIL_OF, page.person)
    login = await context.store.find(Tables.logins, old_email)
    assert person is not None, "a session without its person"
    before = None if login is None else login.totp_sealed
    notice = letters(context, "email_changed", to=old_email, language=person.language, new_email=challenge.email)
    outcome = await context.engine.submit(
        ChangeEmail(
            email=challenge.email,
            old_email=old_email,
            person=page.person,
            token_hash=token_hash(link.encode()),
            letters=notice,
            totp_sealed=_resealed(context, before, old_email, challenge.email),
            instead_of=before,
        )
    )
    if type(outcome) is not Refused:
        return page.redirect(_AFTER, "email.changed")
    if outcome.why is Refusal.EMAIL_TAKEN:
        return _page(page, challenge, status=422, is_taken=True)
    if outcome.why is Refusal.CODE_NOT_VALID:
        return _dead_page(page)
    raise to_problem(outcome)


def _resealed(context: Context, totp_sealed: bytes | None, old_email: str, new_email: str) -> bytes | None:
    """The second factor for the new address. One that cannot be opened is as useless there as here."""
    seed = None if totp_sealed is None else unseal_seed(context.keyring, totp_sealed, old_email)
    return totp_sealed if seed is None else seal_seed(context.keyring, seed, new_email)


async def _own_challenge(page: PageContext) -> Challenge | None:
    challenge = await find_challenge(page.context, _PURPOSE, page.request.arguments["token"])
    return challenge if challenge is not None and challenge.person == page.person else None


def _page(page: PageContext, challenge: Challenge, *, status: int = 200, is_taken: bool = False) -> Response:
    link = page.request.arguments["token"]
    return page.render("account/email_confirm.html", status=status, link=link, email=challenge.email, is_taken=is_taken)


def _dead_page(page: PageContext) -> Response:
    return page.render("html/dead_link.html", status=404, kind="email")
