"""What a process notes of pays that were refused, until a worker writes it down. A pay that succeeds notes nothing."""

from qirsh.domain.limits import ATTEMPTS_AT_ONCE, ATTEMPTS_OF_PAYMENT_AT_ONCE
from qirsh.domain.payment_attempt import FailedAttempt, attempt_reason
from qirsh.domain.refusal import Refusal
from qirsh.engine.clock import Clock
from qirsh.engine.entropy import Entropy


class PaymentAttempts:
    """Tries since the worker took them last. When there are too many, later ones are not noted."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._noted: list[FailedAttempt] = []

    def note(self, payment: int, why: Refusal) -> None:
        """Somebody could not pay it. The id tells nothing of who asked: that of their request would."""
        reason = attempt_reason(why)
        if reason is None or len(self._noted) >= ATTEMPTS_AT_ONCE:
            return
        # Whoever keeps trying one payment leaves room for the others.
        if sum(noted.payment == payment for noted in self._noted) < ATTEMPTS_OF_PAYMENT_AT_ONCE:
            self._noted.append(FailedAttempt(f"pa_{self._entropy(9).hex()}", payment, self._clock(), reason))

    def take(self) -> tuple[FailedAttempt, ...]:
        """What was noted, which is forgotten here."""
        taken, self._noted = tuple(self._noted), []
        return taken
