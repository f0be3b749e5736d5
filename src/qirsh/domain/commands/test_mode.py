"""Commands by which merchants simulate what happens to their test payments."""

from qirsh.domain.command import Command
from qirsh.domain.payment import Payment


class PayAsTest(Command[Payment], frozen=True):
    """A merchant tries what happens when a customer pays, with test money. The outcome is the paid payment."""

    payment: int
    merchant: int
    payer: int  # The test customer of the same merchant,
    mint: int  # and where their money comes from.
    has_funds: bool


class ExpireAsTest(Command[Payment], frozen=True):
    """A merchant tries what happens when the time of a test payment is over. The outcome is the expired payment."""

    payment: int
    merchant: int
