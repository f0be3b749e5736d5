"""The second factor: codes of an app, asked for or no longer asked for, and recovery codes for when it is lost."""

from base64 import b32encode, b64decode, urlsafe_b64encode
from typing import Final

from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.limits import RECOVERY_CODES
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login
from qirsh.domain.refusal import Refusal, Refused
from qirsh.web.auth.credentials import RECOVERY
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri, totp_step
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import (
    REAUTH_FIELDS,
    SECURITY,
    AccountHolder,
    account_holder_of,
    is_reauthenticated,
    mail_to_holder,
)
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_CODE_CHARACTERS: Final = 10  # 50 bits, of which a guess at the sign-in finds none.
_MAC_BYTES: Final = 36


def codes_left(login: Login) -> int:
    """Recovery codes that have not been used."""
    return len(login.recovery) // _MAC_BYTES


@signed_in
async def show_totp_setup(page: PageContext) -> Response:
    """A new seed, which counts for nothing until its first code has come back."""
    holder = await account_holder_of(page)
    if holder.has_factor:
        return see_other(SECURITY)
    return _seed_page(page, holder, new_seed(page.context.entropy))


@signed_in
async def turn_on_totp(page: PageContext) -> Response:
    """From now on a code is asked for; the recovery codes are shown this once."""
    form = page.form("totp", "password", "code", "seed")
    holder, context = await account_holder_of(page), page.context
    seed = _unsealed(page, form["seed"])
    if holder.has_factor or seed is None:
        return page.redirect(SECURITY, "totp.already" if holder.has_factor else "totp.late")
    sealed = seal_seed(context.keyring, seed)
    step = totp_step(context, sealed, form["code"].replace(" ", ""))
    if not await is_reauthenticated(page, holder, {**form, "code": ""}):
        if (await account_holder_of(page)).has_factor:
            return page.redirect(SECURITY, "totp.already")
        return _seed_page(page, holder, seed, status=422, why="password")
    if step is None:
        return _seed_page(page, holder, seed, status=422, why="code")
    codes = _new_codes(context)
    outcome = await context.engine.submit(
        SetSecondFactor(
            email=holder.login.email,
            person=page.person,
            totp_sealed=sealed,
            totp_step=step,
            recovery=_macs(context, page.person, codes),
            letters=mail_to_holder(page, holder, "second_factor_on"),
            instead_of=None,
        )
    )
    if type(outcome) is not Refused:
        return page.render("account/recovery_codes.html", codes=codes, is_first=True)
    if outcome.why is Refusal.MOVE_NOT_ALLOWED:
        return page.redirect(
            SECURITY, "totp.already"
        )  # Another tab was quicker: its app and its codes are the right ones.
    raise to_problem(outcome)


@signed_in
async def show_totp_off(page: PageContext) -> Response:
    """The form."""
    return _off_page(page, await account_holder_of(page))


@signed_in
async def turn_off_totp(page: PageContext) -> Response:
    """No code is asked for any more."""
    form = page.form("totp-off", *REAUTH_FIELDS)
    holder = await account_holder_of(page)
    if not holder.has_factor:
        return see_other(SECURITY)
    if holder.is_operator:
        return _off_page(page, holder, status=422)
    if not await is_reauthenticated(page, holder, form):
        return _off_page(page, holder, status=422, is_wrong=True)
    letters = mail_to_holder(page, holder, "second_factor_off")
    outcome = await _set(page, holder, totp_sealed=None, recovery=b"", letters=letters)
    return page.redirect(SECURITY, "totp.off" if outcome is None else "totp.changed")


@signed_in
async def show_recovery_codes(page: PageContext) -> Response:
    """The form."""
    return _recovery_page(page, await account_holder_of(page))


@signed_in
async def renew_recovery_codes(page: PageContext) -> Response:
    """Ten new codes, shown this once. Those before work no more."""
    form = page.form("recovery", *REAUTH_FIELDS)
    holder = await account_holder_of(page)
    if not holder.has_factor:
        return see_other(SECURITY)
    if not await is_reauthenticated(page, holder, form):
        return _recovery_page(page, holder, status=422, is_wrong=True)
    codes = _new_codes(page.context)
    macs = _macs(page.context, page.person, codes)
    letters = mail_to_holder(page, holder, "recovery_renewed")
    refused = await _set(page, holder, totp_sealed=holder.login.totp_sealed, recovery=macs, letters=letters)
    if refused is not None:
        return page.redirect(SECURITY, "totp.changed")
    return page.render("account/recovery_codes.html", codes=codes, is_first=False)


async def _set(
    page: PageContext,
    holder: AccountHolder,
    *,
    totp_sealed: bytes | None,
    recovery: bytes,
    letters: tuple[Letter, ...],
) -> Refused | None:
    """A refusal tells that the second factor is another than it was a moment ago."""
    outcome = await page.context.engine.submit(
        SetSecondFactor(
            email=holder.login.email,
            person=page.person,
            totp_sealed=totp_sealed,
            totp_step=holder.login.totp_step,
            recovery=recovery,
            letters=letters,
            instead_of=holder.login.totp_sealed,
        )
    )
    if type(outcome) is Refused and outcome.why is not Refusal.MOVE_NOT_ALLOWED:
        raise to_problem(outcome)
    return outcome if type(outcome) is Refused else None


def _new_codes(context: Context) -> list[str]:
    """Letters and digits none of which is taken for another."""
    return [b32encode(context.entropy(_CODE_CHARACTERS)).decode()[:_CODE_CHARACTERS] for _ in range(RECOVERY_CODES)]


def _macs(context: Context, person: int, codes: list[str]) -> bytes:
    macs = [context.keyring.code_mac(RECOVERY, str(person), code) for code in codes]
    assert {len(mac) for mac in macs} == {_MAC_BYTES}
    return b"".join(macs)


def _purpose(page: PageContext) -> bytes:
    # A seed goes with the form, and only the session that got it can bring it back.
    return b"new totp " + page.session.hash


def _unsealed(page: PageContext, given: str) -> str | None:
    try:
        seed = page.context.keyring.unseal(b64decode(given, altchars=b"-_", validate=True), _purpose(page))
    except ValueError:
        return None
    return None if seed is None else seed.decode()


def _seed_page(page: PageContext, holder: AccountHolder, seed: str, *, status: int = 200, why: str = "") -> Response:
    sealed = page.context.keyring.seal(seed.encode(), _purpose(page))
    return page.render(
        "account/totp.html",
        status=status,
        why=why,
        seed=seed,
        sealed=urlsafe_b64encode(sealed).decode(),
        uri=setup_uri(seed, holder.login.email),
        qr_svg=qr_svg,
        email=holder.login.email,
    )


def _off_page(page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False) -> Response:
    if not holder.has_factor:
        return see_other(SECURITY)
    return page.render("account/totp_off.html", status=status, is_operator=holder.is_operator, is_wrong=is_wrong)


def _recovery_page(page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False) -> Response:
    if not holder.has_factor:
        return see_other(SECURITY)
    return page.render("account/recovery.html", status=status, codes_left=codes_left(holder.login), is_wrong=is_wrong)
