"""Joining: first the address, to which a code is mailed; then the code, and what else makes an account.

Nobody learns here whether an address is known. It gets a mail in either case, one with a code or one that says that
there is an account, and everything else is the same: the answer, the work, and what a wrong code costs.
"""

import re
import unicodedata
from typing import Final

import msgspec

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import ChangePin, StartChallenge
from qirsh.domain.commands.person import Join
from qirsh.domain.limits import NAME_CHARACTERS_MAX, PHONE_CHARACTERS_MAX
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import plural, text
from qirsh.web.account.post_login_redirect import payment_asked, payment_named, way_on, with_payment
from qirsh.web.auth.credentials import Proof
from qirsh.web.auth.email_challenge import new_code, new_link_token
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.auth.password_policy import password_fault, pin_fault
from qirsh.web.html.cookies import JOINING, set_cookie
from qirsh.web.html.page_context import Visit, visit_of
from qirsh.web.html.rendering import see_other
from qirsh.web.html.sealed_cookie import keep, kept
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import problem_of

_START: Final = "/sign-up"
_CODE: Final = "/sign-up/code"
_PURPOSE: Final = "sign-up"
_NOBODY: Final = 0
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ()./-]{4,}")
_TYPED: Final = ("code", "name", "phone", "password", "pin", "pin_again")


class Joining(msgspec.Struct, frozen=True):
    """Which address this browser wants to join with, and what shows that it asked for the code itself."""

    email: str
    token: str


async def show_sign_up(parts: Parts, request: Request) -> Response:
    """The form that asks for the address."""
    visit = await visit_of(parts, request)
    pay = payment_asked(parts, request)
    return see_other(way_on(pay)) if visit.caller is not None else _page(visit, pay)


async def start_sign_up(parts: Parts, request: Request) -> Response:
    """Write to the address, and ask for what the mail says."""
    visit = await visit_of(parts, request)
    form = visit.open_form(_PURPOSE, "email", "pay")
    pay, email = payment_named(parts, form["pay"]), normal_email(form["email"])
    if visit.caller is not None or not parts.has_mail:
        return see_other(with_payment(_START, pay))
    if email is None:
        wrong = text(request.language, _("This is not an e-mail address. Write it as in name@example.org."))
        return _page(visit, pay, status=422, email=form["email"], wrong=wrong)
    if parts.limits is not None:
        parts.limits.count_mail(request, email)
    joining = Joining(email, new_link_token(parts))
    await _write_to(parts, joining, request.language)
    return see_other(with_payment(_CODE, pay), [keep(parts, JOINING, joining)])


async def show_sign_up_code(parts: Parts, request: Request) -> Response:
    """The code, and what else makes an account."""
    visit = await visit_of(parts, request)
    pay = payment_asked(parts, request)
    joining = kept(parts, request, JOINING, Joining)
    if visit.caller is not None or joining is None:
        return see_other(way_on(pay) if visit.caller is not None else with_payment(_START, pay))
    return _code_page(visit, joining, pay)


async def finish_sign_up(parts: Parts, request: Request) -> Response:
    """A new person, with a PIN and signed in."""
    visit = await visit_of(parts, request)
    joining = kept(parts, request, JOINING, Joining)
    if joining is None:
        return see_other(_START)
    # Another tab may have asked for another address meanwhile: its code is not for this form.
    form = visit.open_form("join", *_TYPED, "pay", bound=(joining.token,))
    pay = payment_named(parts, form["pay"])
    form["name"] = " ".join(unicodedata.normalize("NFC", form["name"]).split())
    form["phone"] = form["phone"].strip()
    if parts.limits is not None:
        parts.limits.count_code(request, joining.email)
    faults = await _faults(parts, joining, form, request.language)
    if not faults:
        refused = await _join(visit, joining, form)
        if refused is None:
            login = await parts.store.find(Tables.logins, joining.email)
            assert login is not None, "a person who has just joined"
            session = await visit.begin(Proof(login))
            return see_other(way_on(pay), [session, set_cookie(parts, JOINING, "")])
        faults = {"code": _code_fault(refused, request.language)}
    return _code_page(visit, joining, pay, status=422, faults=faults, form=form)


async def _write_to(parts: Parts, joining: Joining, language: str) -> None:
    """A code to whoever is new. Whoever is not gets no code, so that the one that is kept fits nothing."""
    email, code = joining.email, new_code(parts)
    login = await parts.store.find(Tables.logins, email)
    person = await parts.store.find(Tables.people, login.person if login else _NOBODY)
    if person is None:
        mail = letters(parts, "sign_up_code", to=email, language=language, code=code)
    else:
        sign_in_url = f"{parts.base_url}/sign-in"
        mail = letters(parts, "already_joined", to=email, language=person.language, sign_in_url=sign_in_url)
    await parts.engine.submit(
        StartChallenge(
            purpose=_PURPOSE,
            email=email,
            person=None,
            token_hash=token_hash(joining.token.encode()),
            code_mac=parts.keyring.code_mac(_PURPOSE, email, code),
            letters=mail,
        )
    )


async def _join(visit: Visit, joining: Joining, form: dict[str, str]) -> Refused | None:
    parts, email = visit.parts, joining.email
    person = await parts.engine.submit(
        Join(
            email=email,
            name=form["name"],
            phone=form["phone"],
            language=visit.request.language,
            password_hash=await parts.passwords.hash(form["password"]),
            token_hash=token_hash(joining.token.encode()),
            code_macs=parts.keyring.code_macs(_PURPOSE, email, form["code"].replace(" ", "")),
        )
    )
    if type(person) is Refused:
        if person.why not in {Refusal.CODE_NOT_VALID, Refusal.EMAIL_TAKEN}:
            raise problem_of(person)
        return person
    mac = parts.keyring.pin_mac(person.id, form["pin"])
    await parts.engine.submit(ChangePin(person.id, mac, f"person {person.id}"))
    return None


async def _faults(parts: Parts, joining: Joining, form: dict[str, str], language: str) -> dict[str, str]:
    """What is wrong with each field. The code is tried only when nothing is, so that no try is wasted."""
    name, phone = form["name"], form["phone"]
    pin, pin_again = pin_fault(form["pin"], form["pin_again"], language)
    is_name = 0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable()
    is_phone = not phone or (len(phone) <= PHONE_CHARACTERS_MAX and _PHONE.fullmatch(phone))
    faults = {
        "code": "" if form["code"].strip() else text(language, _("Enter the six digits from the mail.")),
        "name": "" if is_name else _name_fault(language),
        "phone": "" if is_phone else text(language, _("Write the number with digits, as in +963 944 123 456.")),
        "password": await password_fault(parts, form["password"], language, name, joining.email),
        "pin": pin,
        "pin_again": pin_again,
    }
    return {field: fault for field, fault in faults.items() if fault}


def _name_fault(language: str) -> str:
    message = _("Enter your name, with at most %(most)s characters.")
    return text(language, message, most=NAME_CHARACTERS_MAX)


def _code_fault(refused: Refused, language: str) -> str:
    if not refused.attempts_left:
        return text(
            language,
            _(
                "This code no longer works: it is too old, was used, or was wrong too often."
                " Ask for a new one below, or sign in if you have joined already."
            ),
        )
    return plural(
        language,
        "This code is not right. You can try %(n)d more time.",
        "This code is not right. You can try %(n)d more times.",
        refused.attempts_left,
    )


def _page(visit: Visit, pay: str, *, status: int = 200, email: str = "", wrong: str = "") -> Response:
    has_mail = visit.parts.has_mail
    return visit.page("account/sign_up.html", status=status, pay=pay, email=email, wrong=wrong, has_mail=has_mail)


def _code_page(
    visit: Visit,
    joining: Joining,
    pay: str,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    return visit.page(
        "account/sign_up_code.html",
        status=status,
        pay=pay,
        email=joining.email,
        bound=joining.token,
        faults=dict.fromkeys(_TYPED, "") | (faults or {}),
        typed=dict.fromkeys(_TYPED, "") | (form or {}),
        keeps_mail=visit.parts.keeps_mail,
    )
