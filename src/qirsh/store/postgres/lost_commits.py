"""Whether commits that a writer knows of are still there.

Its row has the number of its last batch, in each commit. A lower one, or none, is that of a database that was set
back: by a failover that lost commits, or by an older copy. A process that starts again has new writers, and knows of
no batch: what was seen of the chain of seals tells it.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from qirsh.domain.stop import SET_BACK
from qirsh.store.interface import Query

Select = Callable[[Query, list[str]], Awaitable[list[tuple[Any, ...]]]]

BATCH: Final = "SELECT batch FROM writer WHERE name = $1"
_BATCHES: Final = Query("SELECT name, batch FROM writer WHERE name = ANY($1::text[])")


class KnownCommit:
    """The last batch of a writer that is known to be committed, and whether it was found to be gone."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self.batch = 0
        self.loss: str | None = None
        self._at = 0

    def note(self, batch: int, at: int) -> None:
        """It is committed, and was decided then."""
        self.batch, self._at = batch, at

    def compare(self, found: int | None, known: int | None = None) -> None:
        """With what the writer's row says, by what was known before it was read."""
        batch = self.batch if known is None else known
        if self.loss is None and batch > (found or 0):
            at = datetime.fromtimestamp(self._at / 1000, UTC)
            self.loss = (
                f"{SET_BACK}: by {at:%Y-%m-%d %H:%M:%S} UTC a connection had committed its batch {batch}, and now its"
                f" last one is {found or 'not there'}: a failover lost commits, or an older copy was put back"
            )


async def look_for_loss(commits: Sequence[KnownCommit], select: Select, select_afresh: Select) -> None:
    """Of all writers, also those that are idle. A reader may still be at a server that was the primary before."""
    known = {commit.writer: commit.batch for commit in commits if commit.batch}
    if not known:
        return
    found: dict[str, int] = dict(await select(_BATCHES, list(known)))
    if any(found.get(writer, 0) < batch for writer, batch in known.items()):
        found = dict(await select_afresh(_BATCHES, list(known)))
        for commit in commits:
            commit.compare(found.get(commit.writer), known.get(commit.writer, 0))
