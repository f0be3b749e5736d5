"""How far a copy has come, for whoever watches."""

from collections.abc import Iterable, Iterator

from qirsh.backup.layout import Row
from qirsh.store.integrity.invariant import Invariant


class Progress:
    """Told of each step, and of what is done of it. This one keeps it to itself."""

    def begin(self, step: str, total: int) -> None:
        """So much is to be done."""

    def add(self, count: int) -> None:
        """So much of it is done."""

    def check(self, invariant: Invariant) -> None:
        """A rule that is looked at."""

    def counted(self, chunks: Iterable[list[Row]]) -> Iterator[list[Row]]:
        """The same rows."""
        for chunk in chunks:
            yield chunk
            self.add(len(chunk))
