"""The checks, asked by a service that serves meanwhile: one examination at a time, and nobody waits for it for long."""

import asyncio
from collections.abc import Callable
from typing import Final

from qirsh.doctor.checks import examine
from qirsh.doctor.doctor_check import Finding
from qirsh.settings import Settings
from qirsh.web.http.installation import Examined

_S_MAX: Final = 3.0
_KEPT_S: Final = 10.0  # Whoever asks again so soon hears the same.


class Examination:
    """One that takes longer goes on, and whoever asks next may find it done."""

    def __init__(
        self,
        settings: Settings,
        *,
        examine: Callable[[Settings], dict[str, Finding]] = examine,
        seconds_max: float = _S_MAX,
    ) -> None:
        self._settings = settings
        self._examine = examine
        self._seconds_max = seconds_max
        self._under_way: asyncio.Future[dict[str, Finding]] | None = None
        self._begun_at = 0.0

    async def findings(self) -> list[Examined] | None:
        """What was found; None if it takes too long."""
        now = asyncio.get_running_loop().time()
        asked = self._under_way
        if asked is None or (asked.done() and now > self._begun_at + _KEPT_S):
            self._begun_at = now
            asked = self._under_way = asyncio.ensure_future(asyncio.to_thread(self._examine, self._settings))
        # Not cancelled when the time is over: a thread cannot be.
        await asyncio.wait({asked}, timeout=self._seconds_max)
        if not asked.done():
            return None
        if (error := asked.exception()) is not None:  # A fault of ours must not take the page along.
            return [Examined("Doctor", "bad", repr(error))]
        return [Examined(name, finding.level, finding.words) for name, finding in asked.result().items()]
