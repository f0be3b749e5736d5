"""Proposals: what one operator asks for and another confirms. Each holds the very command that is carried out then."""

from hashlib import sha256
from typing import Final, Literal

import msgspec

State = Literal["open", "done", "refused", "withdrawn", "lapsed"]

FORGOTTEN: Final = "{}"
PROPOSAL_MS: Final = 7 * 24 * 3600 * 1000  # After that nobody remembers why.


class Proposal(msgspec.Struct, frozen=True):
    """Asked for once and decided once. Who asked for it, or has changed it since, does not confirm it."""

    id: str
    action: str  # As the command line names it: `deposit`.
    command: str  # As JSON; `FORGOTTEN` of an appointment that came to nothing: no address is kept for that.
    subject: str  # What it is about, as audit entries name it: `account 100000000012`.
    reason: str
    asked_by: int
    asked_at: int
    editors: str = ""  # Who has changed it since, by their ids.
    state: State = "open"
    decided_by: int | None = None  # None while it is open, when it lapsed, and where there was nobody else to ask.
    decided_at: int | None = None
    decision: str = ""  # Why not.


def authors(proposal: Proposal) -> frozenset[int]:
    """Who asked for it, and who has changed it since."""
    return frozenset({proposal.asked_by, *map(int, proposal.editors.split())})


def shown_digest(proposal: Proposal) -> bytes:
    """Of what an operator sees before they decide; a change of it is another digest."""
    seen = (proposal.id, proposal.action, proposal.command, proposal.subject, proposal.reason, proposal.editors)
    return sha256(msgspec.json.encode(seen)).digest()


def is_lapsed(proposal: Proposal, now: int) -> bool:
    """Whether it is too old to be decided on, told so or not yet."""
    return proposal.state == "open" and now >= proposal.asked_at + PROPOSAL_MS
