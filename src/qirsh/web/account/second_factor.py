"""The second factor: codes of an app, asked for or no longer asked for, and recovery codes for when it is lost.

Turning it on or off takes the password and, where mail is sent, a mailed code too: a thief with the password could
otherwise keep the owner out for good.
"""

from base64 import b64decode, urlsafe_b64encode

from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal, Refused
from qirsh.web.account.second_factor_code import (
    ask_page,
    code_tie,
    count_mailed_code,
    has_code_mailed,
    mailed_code_fault,
    mailed_code_macs,
)
from qirsh.web.auth.recovery_codes import codes_left, new_codes, recovery_hashes
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
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem


@signed_in
async def show_totp_setup(page: PageContext) -> Response:
    """A new seed, which counts for nothing until its first code has come back."""
    holder = await account_holder_of(page)
    if holder.has_factor:
        return see_other(SECURITY)
    if page.context.has_mail and not await has_code_mailed(page, holder):
        return ask_page(page, holder)
    return _seed_page(page, holder, new_seed(page.context.entropy))


@signed_in
async def turn_on_totp(page: PageContext) -> Response:
    """From now on a code is asked for; the recovery codes are shown this once."""
    form = page.form("totp", "password", "code", "seed", "mail_code")
    holder, context = await account_holder_of(page), page.context
    seed = _unsealed(page, form["seed"])
    if holder.has_factor or seed is None:
        return page.redirect(SECURITY, "totp.already" if holder.has_factor else "totp.late")
    sealed = seal_seed(context.keyring, seed, holder.login.email)
    step = totp_step(context, holder.login.email, sealed, form["code"].replace(" ", ""))
    if context.has_mail:
        count_mailed_code(page, holder)
    elif not await is_reauthenticated(page, holder, {**form, "code": ""}):
        if (await account_holder_of(page)).has_factor:
            return page.redirect(SECURITY, "totp.already")
        return _seed_page(page, holder, seed, status=422, why="password")
    if step is None:
        return _seed_page(page, holder, seed, status=422, why="code")
    codes = new_codes(context.entropy)
    outcome = await context.engine.submit(
        SetSecondFactor(
            email=holder.login.email,
            person=page.person,
            totp_sealed=sealed,
            totp_step=step,
            recovery=await recovery_hashes(context, page.person, codes),
            letters=mail_to_holder(page, holder, "second_factor_on"),
            instead_of=None,
            token_hash=code_tie(page),
            code_macs=mailed_code_macs(page, holder, form["mail_code"]),
        )
    )
    if type(outcome) is not Refused:
        return page.render("account/recovery_codes.html", codes=codes, is_first=True)
    if outcome.why is Refusal.MOVE_NOT_ALLOWED:
        return page.redirect(
            SECURITY, "totp.already"
        )  # Another tab was quicker: its app and its codes are the right ones.
    if outcome.why is Refusal.CODE_NOT_VALID:
        if (await account_holder_of(page)).has_factor:
            return page.redirect(SECURITY, "totp.already")
        fault = mailed_code_fault(page, outcome)
        return _seed_page(page, holder, seed, status=422, mail_fault=fault)
    raise to_problem(outcome)


@signed_in
async def show_totp_off(page: PageContext) -> Response:
    """The form; before that, where mail is sent, the one that asks for a code."""
    holder = await account_holder_of(page)
    is_asking = page.context.has_mail and holder.has_factor and not holder.is_operator
    if is_asking and not await has_code_mailed(page, holder):
        return ask_page(page, holder)
    return _off_page(page, holder)


@signed_in
async def turn_off_totp(page: PageContext) -> Response:
    """No code is asked for any more."""
    form = page.form("totp-off", *REAUTH_FIELDS, "mail_code")
    holder = await account_holder_of(page)
    if not holder.has_factor:
        return see_other(SECURITY)
    if holder.is_operator:
        return _off_page(page, holder, status=422)
    if page.context.has_mail:
        count_mailed_code(page, holder)
    elif not await is_reauthenticated(page, holder, form):
        return _off_page(page, holder, status=422, is_wrong=True)
    letters = mail_to_holder(page, holder, "second_factor_off")
    macs = mailed_code_macs(page, holder, form["mail_code"])
    outcome = await _set(page, holder, totp_sealed=None, recovery=b"", letters=letters, code=(code_tie(page), macs))
    if outcome is not None and outcome.why is Refusal.CODE_NOT_VALID:
        return _off_page(page, holder, status=422, mail_fault=mailed_code_fault(page, outcome))
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
    codes = new_codes(page.context.entropy)
    hashes = await recovery_hashes(page.context, page.person, codes)
    letters = mail_to_holder(page, holder, "recovery_renewed")
    refused = await _set(page, holder, totp_sealed=holder.login.totp_sealed, recovery=hashes, letters=letters)
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
    code: tuple[bytes, tuple[bytes, ...]] = (b"", ()),
) -> Refused | None:
    """A refusal tells that the second factor is another than it was a moment ago, or that the code is wrong."""
    outcome = await page.context.engine.submit(
        SetSecondFactor(
            email=holder.login.email,
            person=page.person,
            totp_sealed=totp_sealed,
            totp_step=holder.login.totp_step,
            recovery=recovery,
            letters=letters,
            instead_of=holder.login.totp_sealed,
            token_hash=code[0],
            code_macs=code[1],
        )
    )
    if type(outcome) is Refused and outcome.why not in {Refusal.MOVE_NOT_ALLOWED, Refusal.CODE_NOT_VALID}:
        raise to_problem(outcome)
    return outcome if type(outcome) is Refused else None


def _purpose(page: PageContext) -> bytes:
    # A seed goes with the form, and only the session that got it can bring it back.
    return b"new totp " + page.session.hash


def _unsealed(page: PageContext, given: str) -> str | None:
    try:
        seed = page.context.keyring.unseal(b64decode(given, altchars=b"-_", validate=True), _purpose(page))
    except ValueError:
        return None
    return None if seed is None else seed.decode()


def _seed_page(
    page: PageContext, holder: AccountHolder, seed: str, *, status: int = 200, why: str = "", mail_fault: str = ""
) -> Response:
    sealed = page.context.keyring.seal(seed.encode(), _purpose(page))
    return page.render(
        "account/totp.html",
        status=status,
        why=why,
        mail_fault=mail_fault,
        has_mail=page.context.has_mail,
        seed=seed,
        sealed=urlsafe_b64encode(sealed).decode(),
        uri=setup_uri(seed, holder.login.email),
        qr_svg=qr_svg,
        email=holder.login.email,
    )


def _off_page(
    page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False, mail_fault: str = ""
) -> Response:
    if not holder.has_factor:
        return see_other(SECURITY)
    return page.render(
        "account/totp_off.html",
        status=status,
        is_operator=holder.is_operator,
        is_wrong=is_wrong,
        mail_fault=mail_fault,
        has_mail=page.context.has_mail,
    )


def _recovery_page(page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False) -> Response:
    if not holder.has_factor:
        return see_other(SECURITY)
    return page.render("account/recovery.html", status=status, codes_left=codes_left(holder.login), is_wrong=is_wrong)
