"""Whose security it is: what their pages show of them, and the proof that every change of it asks for anew.

A session alone changes nothing here: a thief who finds a browser open, or has its cookie, lacks the password.
"""

from typing import Final

import msgspec

from qirsh.domain.commands.session import UseLoginCode
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login, Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.credentials import authenticate_request
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.html.page_context import PageContext
from qirsh.web.http.context import Context
from qirsh.web.http.problems import Problem, to_problem

SECURITY: Final = "/wallet/security"
REAUTH_FIELDS: Final = ("password", "code")  # The fields of a form in which the proof is typed.


class AccountHolder(msgspec.Struct, frozen=True):
    """A person, and how they sign in."""

    person: Person
    login: Login
    is_operator: bool

    @property
    def has_factor(self) -> bool:
        """Whether a code is asked for."""
        return self.login.totp_sealed is not None


async def account_holder_of(page: PageContext) -> AccountHolder:
    """The signed-in person."""
    store = page.context.store
    person = await store.find(Tables.people, page.person)
    addresses = await store.select(EMAIL_OF, page.person)
    login = await store.find(Tables.logins, addresses[0][0]) if addresses else None
    if person is None or login is None or login.person != person.id:
        raise Problem("stale_form")  # They were forgotten, or changed their address, between one look and the next.
    return AccountHolder(person, login, await is_operator(page.context, person.id))


async def is_operator(context: Context, person: int) -> bool:
    """Whether they run the service, and have not stopped to."""
    operator = await context.store.find(Tables.operators, person)
    return operator is not None and operator.ended_at is None


async def is_reauthenticated(page: PageContext, holder: AccountHolder, form: dict[str, str]) -> bool:
    """Whether the password and, where there is a second factor, the code are right. The code is used up.

    Tries are counted by the person: what strangers try at the sign-in takes none from them.
    """
    email, password = holder.login.email, form["password"]
    if not 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        return False
    verified = await authenticate_request(
        page.context, page.request, email=email, password=password, code=form["code"], known=page.counted_as
    )
    if verified is None or verified.login.person != page.person:
        return False
    used = await page.context.engine.submit(
        UseLoginCode(page.person, email, verified.login.password_hash, verified.totp_step, verified.recovery_hash)
    )
    if type(used) is not Refused:
        return True
    if used.why is Refusal.CODE_NOT_VALID:
        return False
    raise to_problem(used)


def mail_to_holder(page: PageContext, holder: AccountHolder, kind: str, **words: str | int) -> tuple[Letter, ...]:
    """What a command takes along for the person, to the address with which they sign in."""
    return letters(page.context, kind, to=holder.login.email, language=holder.person.language, **words)
