"""Commands about stored responses."""

from qirsh.domain.command import Command


class ForgetStoredResponses(Command[int], frozen=True):
    """Stored responses whose term is long over go. The outcome is how many did."""

    keys: tuple[tuple[int, str], ...]  # Accounts and their idempotency keys.
