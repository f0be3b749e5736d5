"""Events as they happen, from now on, each once. While the service is away the place in the list is kept."""

import functools
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from qirsh.cli.developer.api_client import ApiClient, ApiProblem, ServerAway
from qirsh.cli.developer.event_list import LATEST, WholeEvent, read_event, read_page

T = TypeVar("T")

_WAIT_S: Final = 25
_PAUSE_S_MIN: Final = 0.5
_PAUSE_S_MAX: Final = 10.0
_RETRY_AFTER_S_MAX: Final = 60


class EventFeed:
    """`tell` hears what goes wrong and that it is right again."""

    def __init__(
        self,
        client: ApiClient,
        *,
        types: frozenset[str],  # Empty: all.
        tell: Callable[[str], None],
        wait_s: int = _WAIT_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._types = types
        self._tell = tell
        self._wait_s = wait_s
        self._pause = pause
        # None is the beginning: nothing had happened yet when we began.
        self._cursor: str | None = None

    def begin(self) -> None:
        """Whatever happens after this is fed. Raises if the service is away or says no."""
        self._cursor = read_page(self._client, LATEST).next_cursor

    def follow(self) -> Iterator[WholeEvent]:
        """For ever. Raises `ApiProblem` when the service does not let us any more."""
        kind = next(iter(self._types)) if len(self._types) == 1 else None
        while True:
            try:
                page = self._persist(lambda: read_page(self._client, self._cursor, kind=kind, wait_s=self._wait_s))
                for event in page.items:
                    if not self._types or event.type in self._types:
                        yield self._persist(functools.partial(read_event, self._client, event.id))
                self._cursor = page.next_cursor or self._cursor
            except ApiProblem as problem:
                # Another database, or a backup that ends before our place.
                if problem.code != "not_found" and "cursor" not in problem.fields:
                    raise
                self._persist(self.begin)
                self._tell("the service does not know the last event that was seen: going on from now")

    def _persist(self, ask: Callable[[], T]) -> T:
        """The answer, as soon as there is one."""
        pause_s, is_away = _PAUSE_S_MIN, False
        while True:
            try:
                answer = ask()
            except (ServerAway, ApiProblem) as error:
                retry_after_s = 0
                if isinstance(error, ApiProblem):
                    if not error.is_passing:
                        raise
                    retry_after_s = min(error.retry_after_s, _RETRY_AFTER_S_MAX)
                if not is_away:
                    self._tell(f"{error.message}; trying again")
                is_away = True
                self._pause(max(pause_s, retry_after_s))
                pause_s = min(pause_s * 2, _PAUSE_S_MAX)
            else:
                if is_away:
                    self._tell("connected again; nothing was missed")
                return answer
