"""Operators as they come to be, for worlds that send no mail: by the commands that the acts and the page submit."""

import pyotp

from qirsh.domain.commands.operator import AcceptAppointment, AppointOperator, ConfirmOperator
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refused
from qirsh.web.auth.totp import seal_seed
from qirsh.web.http.context import Context

# So long ago that whoever made them and they count as two.
LONG_AGO_MS = OPERATOR_NEW_MS + 24 * 3_600_000


async def appointed(
    context: Context, email: str, password: str, *, by: int, agrees: int | None = None
) -> tuple[int, str]:
    """Somebody whom one operator asks for, and another agrees to if told so: who they are, and their second factor."""
    link, secret = context.entropy(32), pyotp.random_base32(32)
    sealed = seal_seed(context.keyring, secret, email)
    submit = context.engine.submit
    outcomes = [await submit(AppointOperator(email, "Operator", by, f"operator {by}", link))]
    if agrees is not None:
        outcomes.append(await submit(ConfirmOperator(email, "appoint", by, agrees, f"operator {agrees}", link)))
    hashed = await context.passwords.hash(password)
    person = await submit(AcceptAppointment(email, link, "en", hashed, sealed, totp_step=0))
    assert not [outcome for outcome in (*outcomes, person) if type(outcome) is Refused], (*outcomes, person)
    assert type(person) is Person
    return person.id, secret
