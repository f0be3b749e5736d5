"""The link that was mailed to a new address. Whoever asked for it confirms, and signs in with the address from then."""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Challenge
from qirsh.domain.commands.login_credentials import ChangeEmail
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.email_challenge import challenge_of
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.html.page_context import Visit, visit_of
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import problem_of

_PURPOSE: Final = "email"
_AFTER: Final = "/wallet/settings"


async def show_email_confirmation(parts: Parts, request: Request) -> Response:
    """What would change. Opening the link changes nothing."""
    visit = await visit_of(parts, request)
    if visit.caller is None:
        # The same for a good and a dead link: whose it is, only the one who asked may see.
        return visit.page("account/email_sign_in.html")
    challenge = await _own_challenge(visit)
    return _dead_page(visit) if challenge is None else _page(visit, challenge)


async def confirm_email(parts: Parts, request: Request) -> Response:
    """The new address, to which this very link was mailed. The old one is told."""
    visit, link = await visit_of(parts, request), request.arguments["token"]
    visit.form(_PURPOSE, bound=(link,))
    challenge = await _own_challenge(visit)
    if challenge is None:
        return _dead_page(visit)
    person = await parts.store.find(Tables.people, visit.person)
    [(old_email,)] = await parts.store.select(EMAIL_OF, visit.person)
    assert person is not None, "a session without its person"
    told = letters(parts, "email_changed", to=old_email, language=person.language, new_email=challenge.email)
    outcome = await parts.engine.submit(
        ChangeEmail(
            email=challenge.email,
            old_email=old_email,
            person=visit.person,
            token_hash=token_hash(link.encode()),
            letters=told,
        )
    )
    if type(outcome) is not Refused:
        return visit.go(_AFTER, "email.changed")
    if outcome.why is Refusal.EMAIL_TAKEN:
        return _page(visit, challenge, status=422, is_taken=True)
    if outcome.why is Refusal.CODE_NOT_VALID:
        return _dead_page(visit)
    raise problem_of(outcome)


async def _own_challenge(visit: Visit) -> Challenge | None:
    challenge = await challenge_of(visit.parts, _PURPOSE, visit.request.arguments["token"])
    return challenge if challenge is not None and challenge.person == visit.person else None


def _page(visit: Visit, challenge: Challenge, *, status: int = 200, is_taken: bool = False) -> Response:
    link = visit.request.arguments["token"]
    return visit.page("account/email_confirm.html", status=status, link=link, email=challenge.email, is_taken=is_taken)


def _dead_page(visit: Visit) -> Response:
    return visit.page("html/dead_link.html", status=404, kind="email")
