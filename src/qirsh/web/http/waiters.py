"""Callers who wait for a payment to become final or for an event, and how they hear of it."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from qirsh.domain.limits import WAITS_OF_KEY_MAX
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.web.http.problems import Problem

# Seconds between two reads while a caller waits: a change made by another process wakes no one here.
LOOK_AGAIN_S: Final = 1.0

# A payment by its number, or the events of an account.
Subject = int | tuple[str, int]


def events_of(account: int) -> Subject:
    """What those wait for who want an account's next event."""
    return ("events", account)


class Waiters:
    """Told by the engine after each commit of this process."""

    def __init__(self) -> None:
        self._waiting: dict[Subject, set[asyncio.Event]] = {}
        self._by_key: Counter[str] = Counter()
        self.is_closed = False

    def close(self) -> None:
        """The service stops: waiting calls answer with what is known, now."""
        self.is_closed = True
        for waiting in self._waiting.values():
            for changed in waiting:
                changed.set()

    def hear(self, work: UnitOfWork) -> None:
        """A batch was committed."""
        if self._waiting:
            subjects = {*work.payments.changed, *(events_of(event.account) for event in work.events)}
            for subject in subjects & self._waiting.keys():
                for changed in self._waiting[subject]:
                    changed.set()

    @contextmanager
    def registered(self, subject: Subject, key: str = "") -> Iterator[asyncio.Event]:
        """An event that is set when the subject changes. Look at it after registering, not before.

        The calls of one API key may be so many that wait; pages wait for one payment, under none.
        """
        if key and self._by_key[key] >= WAITS_OF_KEY_MAX:
            raise Problem("rate_limited", detail=f"Of one key, at most {WAITS_OF_KEY_MAX} calls wait at once.")
        changed = asyncio.Event()
        self._waiting.setdefault(subject, set()).add(changed)
        self._by_key[key] += 1
        try:
            yield changed
        finally:
            self._waiting[subject].discard(changed)
            if not self._waiting[subject]:
                del self._waiting[subject]
            self._by_key[key] -= 1
            if not self._by_key[key]:
                del self._by_key[key]
