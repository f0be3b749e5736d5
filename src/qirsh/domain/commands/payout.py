"""Commands about payouts."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.payout import Payout


class RequestPayout(Command[Payout], frozen=True):
    """An owner wants money sent to a bank account. The outcome is the payout."""

    id: str
    account: int
    person: int
    currency: str
    amount: int
    bank_sealed: bytes
    pin_macs: tuple[bytes, ...]
    letters: tuple[Letter, ...] = ()
    bank_hint: str = ""  # The last of the number, to be kept; none of a person's own.


class CancelPayout(Command[Payout], frozen=True):
    """An owner does not want it any more. The outcome is the payout."""

    id: str
    person: int


class RefusePayout(Command[Payout], frozen=True):
    """An operator says why no money will be sent. The outcome is the payout."""

    id: str
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()
