"""A person is to be an operator: behind the mailed link they alone choose a password and a second factor.

Only then do they come to be, all of it in one commit.
"""

from base64 import b64decode, urlsafe_b64encode
from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.operator import AcceptAppointment
from qirsh.domain.operator import Appointment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.auth.email_challenge import find_challenge
from qirsh.web.auth.outgoing_mail import letters_to_operators
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri, totp_step
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.page_context import PageContext, page_context_of
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem
from qirsh.web.operator.console_page import CONSOLE_SIGN_IN

_PURPOSE: Final = "operator"
# What makes a link good for nothing: used, too old, replaced, not enough any more, or the address joined meanwhile.
_DEAD: Final = frozenset({Refusal.CODE_NOT_VALID, Refusal.SECOND_OPERATOR_NEEDED, Refusal.EMAIL_TAKEN})


async def show_appointment(context: Context, request: Request) -> Response:
    """The form, with a new seed. Opening it uses nothing up: programs that check mails open links too."""
    page = await page_context_of(context, request)
    appointment = await _appointment(context, request.arguments["token"])
    if appointment is None:
        return _dead_page(page)
    return _page(page, appointment, new_seed(context.entropy))


async def accept_appointment(context: Context, request: Request) -> Response:
    """A new operator. A second tab finds the link used."""
    page, link = await page_context_of(context, request), request.arguments["token"]
    form = page.open_form(_PURPOSE, "password", "code", "seed", bound=(link,))
    appointment = await _appointment(context, link)
    if appointment is None:
        return _dead_page(page)
    if context.limits is not None:
        context.limits.count_code(request, _PURPOSE, appointment.email)
    fault = await password_fault(context, form["password"], request.language, appointment.name, appointment.email)
    # One that is not ours is none that their app shows codes of.
    seed = _unsealed(context, link, form["seed"]) or new_seed(context.entropy)
    sealed = seal_seed(context.keyring, seed, appointment.email)
    step = totp_step(context, appointment.email, sealed, form["code"].replace(" ", ""))
    if fault or step is None:
        return _page(page, appointment, seed, status=422, fault=fault, is_wrong_code=step is None)
    outcome = await context.engine.submit(
        AcceptAppointment(
            email=appointment.email,
            proposal=appointment.proposal,
            token_hash=token_hash(link.encode()),
            language=request.language,
            password_hash=await context.passwords.hash(form["password"]),
            totp_sealed=sealed,
            totp_step=step,
            letters=await letters_to_operators(
                context, "operator_begun", name=appointment.name, new_email=appointment.email
            ),
        )
    )
    if type(outcome) is Refused:
        if outcome.why not in _DEAD:
            raise to_problem(outcome)
        return _dead_page(page)
    return page.redirect(CONSOLE_SIGN_IN, "sign-in.appointed")


async def _appointment(context: Context, link: str) -> Appointment | None:
    """Whom the link was mailed to; None if it is not, or no longer, good for anything."""
    challenge = await find_challenge(context, _PURPOSE, link)
    return None if challenge is None else await context.store.find(Tables.appointments, challenge.email)


def _seal_purpose(link: str) -> bytes:
    # The seed goes with the form, and only who has the same link can bring it back.
    return b"new operator " + token_hash(link.encode())


def _unsealed(context: Context, link: str, given: str) -> str | None:
    try:
        seed = context.keyring.unseal(b64decode(given, altchars=b"-_", validate=True), _seal_purpose(link))
    except ValueError:
        return None
    return None if seed is None else seed.decode()


def _page(
    page: PageContext,
    appointment: Appointment,
    seed: str,
    *,
    status: int = 200,
    fault: str = "",
    is_wrong_code: bool = False,
) -> Response:
    link = page.request.arguments["token"]
    sealed = page.context.keyring.seal(seed.encode(), _seal_purpose(link))
    return page.render(
        "operator/appointment.html",
        status=status,
        link=link,
        name=appointment.name,
        email=appointment.email,
        seed=seed,
        sealed=urlsafe_b64encode(sealed).decode(),
        uri=setup_uri(seed, appointment.email),
        qr_svg=qr_svg,
        fault=fault,
        is_wrong_code=is_wrong_code,
    )


def _dead_page(page: PageContext) -> Response:
    return page.render("html/dead_link.html", status=404, kind="operator")
