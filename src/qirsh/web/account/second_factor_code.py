"""The mailed code that turning the second factor on or off takes, in the session that has asked for it."""

from typing import Final

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import StartChallenge
from qirsh.domain.limits import CODE_ATTEMPTS_MAX
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.web.account.mailed_code import code_fault
from qirsh.web.auth.credentials import log_failure
from qirsh.web.auth.email_challenge import new_code
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

_PURPOSE: Final = "factor"


@signed_in
async def mail_factor_code(page: PageContext) -> Response:
    """Once the password, and the code of the app where there is one, are right; the page that takes it is next."""
    form = page.form("totp-mail", *REAUTH_FIELDS)
    holder, context = await account_holder_of(page), page.context
    if not context.has_mail or holder.is_operator:
        return see_other(SECURITY)
    if not await is_reauthenticated(page, holder, form):
        return ask_page(page, holder, status=422, is_wrong=True)
    email, code = holder.login.email, new_code(context)
    if context.limits is not None:
        context.limits.count_mail(page.request, _PURPOSE, email, page.counted_as)
    letters = mail_to_holder(page, holder, "factor_code", code=code)
    mac = context.keyring.code_mac(_PURPOSE, email, code)
    await context.engine.submit(StartChallenge(_PURPOSE, email, page.person, code_tie(page), mac, letters))
    return see_other(f"{SECURITY}/totp/off" if holder.has_factor else f"{SECURITY}/totp")


async def has_code_mailed(page: PageContext, holder: AccountHolder) -> bool:
    """Whether one is on its way that this session can use."""
    challenge = await page.context.store.find(Tables.challenges, (_PURPOSE, holder.login.email))
    if challenge is None or challenge.token_hash != code_tie(page) or challenge.failures >= CODE_ATTEMPTS_MAX:
        return False
    return challenge.expires_at > page.context.clock()


def code_tie(page: PageContext) -> bytes:
    """The code works in the session that has asked for it, and in no other; where no mail is sent there is none."""
    return token_hash(page.csrf.token("factor-challenge").encode()) if page.context.has_mail else b""


def mailed_code_macs(page: PageContext, holder: AccountHolder, code: str) -> tuple[bytes, ...]:
    """Of what was typed."""
    return page.context.keyring.code_macs(_PURPOSE, holder.login.email, code.replace(" ", ""))


def count_mailed_code(page: PageContext, holder: AccountHolder) -> None:
    """Before it is looked at."""
    if page.context.limits is not None:
        page.context.limits.count_code(page.request, _PURPOSE, holder.login.email, page.counted_as)


def mailed_code_fault(page: PageContext, refused: Refused) -> str:
    """What stands beside the field. The log has a line of it."""
    log_failure(page.context, page.request, page.counted_as, "mailed code")
    return code_fault(refused.attempts_left or 0, page.request.language)


def ask_page(page: PageContext, holder: AccountHolder, *, status: int = 200, is_wrong: bool = False) -> Response:
    """The form that has a code mailed."""
    return page.render("account/totp_mail.html", status=status, has_factor=holder.has_factor, is_wrong=is_wrong)
