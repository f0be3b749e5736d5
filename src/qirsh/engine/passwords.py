"""Passwords: argon2 off the event loop, a bounded number at once, and the same work for addresses nobody has.

Some keyboards send a letter with its accent as one character, others as two. Both are the same password: it is brought
into Unicode's composed form (NFC, as RFC 8265 says for passwords) before it is hashed or checked, and changed in no
other way.
"""

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from qirsh.domain.limits import PASSWORD_CHECKS_AT_ONCE, PASSWORD_CHECKS_WAITING_MAX

T = TypeVar("T")


class TooManySignIns(Exception):
    """More people sign in than can be checked: nothing was checked, try again in a moment."""


def composed(password: str) -> str:
    """The one spelling of a password."""
    return unicodedata.normalize("NFC", password)


class Passwords:
    """Hashing takes a core and much memory for a while, so it must not crowd out payments."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._pool = ThreadPoolExecutor(PASSWORD_CHECKS_AT_ONCE, thread_name_prefix="argon2")
        self._waiting = 0
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

    def is_outdated(self, stored: str) -> bool:
        """Whether it was hashed with other parameters than are usual now."""
        return self._hasher.check_needs_rehash(stored)

    async def run(self, work: Callable[[], T]) -> T:
        """Other slow work on a password: beside the loop, and bounded like the rest."""
        if self._waiting >= PASSWORD_CHECKS_WAITING_MAX:
            raise TooManySignIns
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown()

    def _is(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
