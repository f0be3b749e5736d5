"""What a day of waiting is kept in. `rules.access` begins and ends it; whoever sets a new secret ends it too."""

import msgspec

from qirsh.domain.pending_reset import RESET_AFTER_MS, WHATS, PendingReset, What, waits
from qirsh.domain.proposal import Proposal
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def lock_resets(person: int, keys: RowKeys, *whats: What) -> None:
    """Of one kind, or all of a person's."""
    keys.pending_resets.update({(person, what) for what in whats or WHATS})


def is_waiting(work: UnitOfWork, person: int, what: What) -> bool:
    return waits(work.pending_resets.get((person, what)))


def begin_reset(work: UnitOfWork, person: int, what: What, proposal: Proposal) -> None:
    """Two have agreed to it: the person has a day to say no."""
    reset = PendingReset(person, what, work.now + RESET_AFTER_MS, proposal.id)
    work.pending_resets.put((person, what), reset)


def keep_what_is(work: UnitOfWork, person: int, *whats: What) -> None:
    """The person has set a new one by themselves, or is erased: nothing is left to be set back."""
    for what in whats or WHATS:
        reset = work.pending_resets.get((person, what))
        if reset is not None and reset.state == "waits":
            work.pending_resets.change((person, what), msgspec.structs.replace(reset, state="kept"))
