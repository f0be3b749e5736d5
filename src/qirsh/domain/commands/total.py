"""Commands about the totals of accounts, which a worker keeps so that nothing is summed while somebody waits."""

from qirsh.domain.command import Command
from qirsh.domain.total import AccountTotal


class RecordTotals(Command[bool], frozen=True):
    """What new transfers add up to is written down. The outcome is whether it was this command that did it."""

    before: AccountTotal | None  # The last row so far.
    rows: tuple[AccountTotal, ...]  # Of one account and currency: that one, grown, or later ones, or both.


class ForgetTotals(Command[int], frozen=True):
    """The last rows of an account and currency are to be made again, since one is wrong. The outcome is how many."""

    account: int
    currency: str
    quarters: tuple[int, ...]


class FollowTotals(Command[bool], frozen=True):
    """What some seals cover is counted. The outcome is whether it was this command that said so."""

    after: int  # So far it had been.
    until: int  # So far it is now.
