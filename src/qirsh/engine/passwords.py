"""Passwords: argon2 off the event loop, a bounded number at once, and the same work for addresses nobody has.

Some keyboards send a letter with its accent as one character, others as two. Both are the same password: it is brought
into Unicode's composed form (NFC, as RFC 8265 says for passwords) before it is hashed or checked, and changed in no
other way.
"""

import unicodedata
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from qirsh.domain.limits import PASSWORD_CHECKS_AT_ONCE, PASSWORD_CHECKS_WAITING_MAX
from qirsh.engine.fair_queue import FairQueue, QueueFull

T = TypeVar("T")

# The network that the present request comes from: those of one share their turns in the queue.
PASSWORD_SOURCE: Final[ContextVar[bytes]] = ContextVar("PASSWORD_SOURCE", default=b"")


class TooManySignIns(Exception):
    """More people sign in than can be checked: nothing was checked, try again in a moment."""


def composed(password: str) -> str:
    """The one spelling of a password."""
    return unicodedata.normalize("NFC", password)


class Passwords:
    """Hashing takes a core and much memory for a while, so it must not crowd out payments."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        # For good: no stored hash of a code says with which parameters it was made.
        self._code_hasher = PasswordHasher(time_cost=3, memory_cost=65536, parallelism=4)
        self._queue = FairQueue(PASSWORD_CHECKS_AT_ONCE, "argon2")
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        """What is stored."""
        return await self.run(lambda: self._hasher.hash(composed(password)))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether the password is the stored one. None stands for a person who does not exist, and takes as long."""
        if self._nobody is None:
            self._nobody = await self.hash("nobody has this password")
        is_right = await self.run(lambda: self._is(stored or self._nobody, composed(password)))  # type: ignore[arg-type]
        return is_right and stored is not None

    async def stretch(self, code: str, salt: bytes) -> str:
        """As slow to try as a password: the same of the same code and salt, always, to be kept under a MAC."""
        return await self.run(lambda: self._code_hasher.hash(code, salt=salt))

    def is_outdated(self, stored: str) -> bool:
        """Whether it was hashed with other parameters than are usual now."""
        return self._hasher.check_needs_rehash(stored)

    async def run(self, work: Callable[[], T]) -> T:
        """Other slow work on a password: beside the loop, and bounded like the rest."""
        try:
            return await self._queue.run(PASSWORD_SOURCE.get(), work, waiting_max=PASSWORD_CHECKS_WAITING_MAX)
        except QueueFull:
            raise TooManySignIns from None

    def close(self) -> None:
        """Wait for what runs."""
        self._queue.close()

    def _is(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
