"""Operators as they come to be, for worlds that send no mail: by the commands that the acts and the page submit."""

import pyotp

from qirsh.domain.commands.operator import AcceptAppointment, AppointOperator
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, Mailed
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.operator_role import ROLES
from qirsh.domain.person import Person
from qirsh.domain.proposal import shown_digest
from qirsh.domain.refusal import granted
from qirsh.web.auth.totp import seal_seed
from qirsh.web.http.context import Context

ALL_ROLES = " ".join(ROLES)
# So long ago that whoever made them and they count as two.
LONG_AGO_MS = OPERATOR_NEW_MS + 24 * 3_600_000


async def appointed(
    context: Context,
    email: str,
    password: str,
    *,
    by: int,
    agrees: int | None = None,
    roles: str = ALL_ROLES,
    name: str = "Operator",
) -> tuple[int, str]:
    """Somebody whom one operator asks for, and another agrees to if told so: who they are, and their second factor."""
    link, secret = context.entropy(32), pyotp.random_base32(32)
    sealed = seal_seed(context.keyring, secret, email)
    submit, mailed = context.engine.submit, Mailed((), link)
    command = AppointOperator(email, name, roles)
    proposal_id = f"pr_{context.entropy(9).hex()}"
    asked = granted(await submit(AskProposal(proposal_id, command, "needed", by, f"operator {by}", mailed=mailed)))
    if agrees is not None:
        actor, seen = f"operator {agrees}", shown_digest(asked)
        granted(await submit(ConfirmProposal(asked.id, seen, by, command, agrees, actor, mailed)))
    hashed = await context.passwords.hash(password)
    person: Person = granted(await submit(AcceptAppointment(email, asked.id, link, "en", hashed, sealed, totp_step=0)))
    return person.id, secret
