"""The command that makes payments findable."""

from qirsh.domain.command import Command
from qirsh.domain.payment_index import PaymentWord


class IndexPayments(Command[bool], frozen=True):
    """What a list finds payments by is filled in, for a run of payments of one block of numbers.

    The outcome is whether it was this command that did it.
    """

    block: int
    after: int  # So far it was done.
    until: int  # So far it is now.
    words: tuple[PaymentWord, ...]
