"""Whose security it is: what their pages show of them, and the proof that every change of it asks for anew.

A session alone changes nothing here: whoever finds a browser open, or has stolen its cookie, lacks the password.
"""

from typing import Final

import msgspec

from qirsh.domain.commands.session import UseProof
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login, Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.credentials import prove_from_outside
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.html.page_context import Visit
from qirsh.web.http.context import Parts
from qirsh.web.http.problems import Problem, problem_of

SECURITY: Final = "/wallet/security"
PROOF: Final = ("password", "code")  # The fields of a form in which the proof is typed.


class Keeper(msgspec.Struct, frozen=True):
    """A person, and how they sign in."""

    person: Person
    login: Login
    is_operator: bool

    @property
    def has_factor(self) -> bool:
        """Whether a code is asked for."""
        return self.login.totp_sealed is not None


async def keeper_of(visit: Visit) -> Keeper:
    """Whoever is signed in."""
    store = visit.parts.store
    person = await store.find(Tables.people, visit.person)
    addresses = await store.select(EMAIL_OF, visit.person)
    login = await store.find(Tables.logins, addresses[0][0]) if addresses else None
    if person is None or login is None or login.person != person.id:
        raise Problem("stale_form")  # They were forgotten, or changed their address, between one look and the next.
    return Keeper(person, login, await is_operator(visit.parts, person.id))


async def is_operator(parts: Parts, person: int) -> bool:
    """Whether they run the service, and have not stopped to."""
    operator = await parts.store.find(Tables.operators, person)
    return operator is not None and operator.ended_at is None


async def is_proved(visit: Visit, keeper: Keeper, form: dict[str, str]) -> bool:
    """Whether the password and, where there is a second factor, the code are right. The code is used up.

    Tries are counted together with those at the sign-in.
    """
    email, password = keeper.login.email, form["password"]
    if not 0 < len(password) <= PASSWORD_CHARACTERS_MAX:
        return False
    proof = await prove_from_outside(visit.parts, visit.request, email=email, password=password, code=form["code"])
    if proof is None or proof.login.person != visit.person:
        return False
    used = await visit.parts.engine.submit(
        UseProof(visit.person, email, proof.login.password_hash, proof.totp_step, proof.recovery_hash)
    )
    if type(used) is not Refused:
        return True
    if used.why is Refusal.CODE_NOT_VALID:
        return False
    raise problem_of(used)


def letter_to(visit: Visit, keeper: Keeper, kind: str, **words: str) -> tuple[Letter, ...]:
    """What a command takes along for the person, to the address with which they sign in."""
    return letters(visit.parts, kind, to=keeper.login.email, language=keeper.person.language, **words)
