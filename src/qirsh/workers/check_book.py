"""What the ledger auditor has seen and not written down yet, rule by rule."""

from collections.abc import Iterable

from qirsh.domain.ledger_check import Looked


class CheckBook:
    """A rule that is asked of a slice at a time has held once all slices of a round were right."""

    def __init__(self) -> None:
        self._seen: dict[str, Looked] = {}
        self._known: dict[str, str] = {}  # The findings that were written down.
        self._unwhole: set[str] = set()  # Rules of which something was wrong or left out in this round.
        self.is_news = False  # Something was found that nobody knows of yet.

    def saw(self, name: str, found: Iterable[str], *, is_last: bool) -> None:
        """Some rows of a rule were looked at, perhaps the last of a round."""
        finding = next(iter(found), "")
        before = self._seen.get(name, Looked(name))
        is_whole = before.is_whole and not finding
        if finding:
            self._unwhole.add(name)
        if is_last:
            is_whole = name not in self._unwhole
            self._unwhole.discard(name)
        self._seen[name] = Looked(name, is_whole, "" if is_whole else finding or before.finding)
        self.is_news = self.is_news or self._known.get(name, "") != self._seen[name].finding != ""

    def left_out(self, names: Iterable[str]) -> None:
        """Some rows were not looked at: this round is not whole."""
        self._unwhole.update(names)

    def begin_anew(self, names: Iterable[str]) -> None:
        """Another process had the role: what we saw before is old."""
        self.left_out(names)
        self._seen.clear()

    def seen(self) -> tuple[Looked, ...]:
        """All that is new."""
        return tuple(self._seen.values())

    def written(self, looked: tuple[Looked, ...]) -> None:
        """It is kept now."""
        for one in looked:
            if one.finding or one.is_whole:
                self._known[one.name] = one.finding
            if self._seen.get(one.name) == one:
                del self._seen[one.name]
        self.is_news = False
