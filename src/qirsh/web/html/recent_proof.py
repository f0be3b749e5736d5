"""How long ago who is signed in has proved who they are: acts that could harm them ask again after ten minutes.

Opening a session is a proof. Later ones are kept in a sealed cookie beside the session's own, and hold for it alone.
"""

from typing import Literal

import msgspec

from qirsh.domain.limits import RECENT_PROOF_MS
from qirsh.web.html.cookies import RECENT_PROOF
from qirsh.web.html.page_context import PageContext
from qirsh.web.html.reauthentication import AccountHolder, is_reauthenticated
from qirsh.web.html.sealed_cookie import keep, kept

ProofFault = Literal["", "asked", "wrong"]


class RecentProof(msgspec.Struct, frozen=True):
    """What the browser keeps."""

    session: str  # The hash of its token.
    at: int


def has_recent_proof(page: PageContext) -> bool:
    """Whether a form need not ask for the password."""
    proved_at = page.user.created_at
    proof = kept(page.context, page.request, RECENT_PROOF, RecentProof)
    if proof is not None and proof.session == page.session.hash.hex():
        proved_at = max(proved_at, proof.at)
    return page.context.clock() - proved_at <= RECENT_PROOF_MS


async def proof_fault(page: PageContext, holder: AccountHolder, form: dict[str, str]) -> ProofFault:
    """What is missing of a proof, lately or in this form: nothing (and the browser keeps it), or what to tell.

    A form that was opened while the last proof was recent has no field for a password: it is `asked`, not `wrong`.
    """
    if has_recent_proof(page):
        return ""
    if not form["password"]:
        return "asked"
    if not await is_reauthenticated(page, holder, form):
        return "wrong"
    proof = RecentProof(page.session.hash.hex(), page.context.clock())
    page.cookies.append(keep(page.context, RECENT_PROOF, proof))
    return ""
