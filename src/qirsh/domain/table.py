"""What a table is to the service: a record, its key, what may change, and when a batch writes it."""

from collections.abc import Hashable
from enum import IntEnum
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar, overload

import msgspec

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)
Row = TypeVar("Row")


class Phase(IntEnum):
    """When a batch writes. What is referred to comes first.

    A payment becomes paid, and a balance changes, after the transfer is there.
    """

    NUMBERS = 0
    DECISIONS = 1  # Of two operators, or of a person: what follows from one is compared with it.
    PARTIES = 2
    BELONGINGS = 3
    ORDERS = 4
    TRANSFERS = 5
    BALANCES = 6
    OUTCOMES = 7
    EVENTS = 8
    REST = 9


class RowSet(Generic[K, Row]):
    """The rows of one table that this batch has asked for."""

    __slots__ = ("added", "changed", "known", "removed")

    def __init__(self) -> None:
        self.known: dict[K, Row | None] = {}
        self.added: dict[K, Row] = {}
        self.changed: dict[K, Row] = {}
        self.removed: set[K] = set()

    def get(self, key: K) -> Row | None:
        """The row as the commands before left it; None if there is none. A key nobody loaded is a KeyError: a bug."""
        return self.known[key]

    def absent(self, key: K) -> None:
        """Nobody can have such a row: what it belongs to has just come into being."""
        self.known[key] = None

    def add(self, key: K, row: Row) -> None:
        """A row that was not there."""
        assert self.known.get(key) is None, "this would overwrite a row in silence"
        self.known[key] = self.added[key] = row

    def change(self, key: K, row: Row) -> None:
        """Another row in the place of one that was there, or that was added a moment ago."""
        self.known[key] = row
        if key in self.added:
            self.added[key] = row
        else:
            self.changed[key] = row

    def remove(self, key: K) -> None:
        """A row that nobody shall find any more, if there is one. Only of tables whose rows may vanish."""
        if self.known[key] is not None and self.added.pop(key, None) is None:
            self.changed.pop(key, None)
            self.removed.add(key)
        self.known[key] = None

    def put(self, key: K, row: Row) -> None:
        """Add or change, for rows that come into being with their first use."""
        if self.known[key] is None:
            self.add(key, row)
        else:
            self.change(key, row)


class AttestedRowSet(RowSet[K, Row]):
    """Rows whose changes enter the credential log: how they were before the batch is kept."""

    __slots__ = ("before",)

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[K, Row] = {}

    def change(self, key: K, row: Row) -> None:
        self._keep(key)
        super().change(key, row)

    def remove(self, key: K) -> None:
        self._keep(key)
        super().remove(key)

    def _keep(self, key: K) -> None:
        row = self.known[key]
        if row is not None and key not in self.added:
            self.before.setdefault(key, row)


class HoldsKeys:
    """What has a set of keys for each table; made when first asked for."""


class HoldsRows:
    """What has the rows of each table; made when first asked for."""


class Columns(Generic[R]):
    """One kind of record: its columns are the record's fields, in order."""

    attribute: str  # Its name among the tables.

    def __init__(self, name: str, record: type[R], phase: Phase) -> None:
        self.name = name
        self.record = record
        self.columns = record.__struct_fields__
        self.phase = phase

    def __set_name__(self, _owner: type, attribute: str) -> None:
        self.attribute = attribute


class Table(Columns[R], Generic[K, R]):
    """Rows with a key. As an attribute it is the set of keys, or the rows, that its owner has of them."""

    def __init__(
        self,
        name: str,
        record: type[R],
        *,
        key: str,
        changes: str = "",
        is_locked: bool = True,
        is_removable: bool = False,
        phase: Phase = Phase.REST,
        change_phase: Phase | None = None,
        attested: str = "",
        attested_as: str = "",
    ) -> None:
        super().__init__(name, record, phase)
        self.is_locked = is_locked  # Whether a batch that is decided on a row keeps others from changing it meanwhile.
        self.is_removable = is_removable
        self.change_phase = phase if change_phase is None else change_phase
        self.key = tuple(key.split())
        self.changes = tuple(changes.split())
        # What of a record enters the credential log when it changes, and the columns that name the row there.
        self.attested = tuple(attested.split())
        self.attested_as = tuple((attested_as or key).split())
        assert all(hasattr(record, name) for name in self.attested)
        assert self.columns[: len(self.key)] == self.key, "the key comes first"
        assert set(self.changes) <= set(self.columns)
        # The key of a row as the database returns it.
        self.key_of: Any = itemgetter(*range(len(self.key)))
        # The key as the values of a condition.
        self.key_values: Any = (lambda key: key) if len(self.key) > 1 else (lambda key: (key,))
        # What an entry of the credential log is made of.
        self.attested_values: Any = _values(self.attested)
        self.attested_key: Any = _values(self.attested_as) if self.attested else None
        # The values of an UPDATE, in the order of its SQL: what changes, then the key.
        self.changed_values: Any = attrgetter(*self.changes, *self.key) if self.changes else None

    @overload
    def __get__(self, owner: HoldsKeys, kind: type) -> set[K]: ...
    @overload
    def __get__(self, owner: HoldsRows, kind: type) -> RowSet[K, R]: ...
    @overload
    def __get__(self, owner: None, kind: type) -> "Table[K, R]": ...
    def __get__(self, owner: HoldsKeys | HoldsRows | None, kind: type) -> "set[K] | RowSet[K, R] | Table[K, R]":
        if owner is None:
            return self
        # From now on it is found without coming here.
        made: set[K] | RowSet[K, R] = set()
        if isinstance(owner, HoldsRows):
            made = AttestedRowSet() if self.attested else RowSet()
        owner.__dict__[self.attribute] = made
        return made


def _values(columns: tuple[str, ...]) -> Any:  # noqa: ANN401 - a function of a row, and the row is anything
    """The values of these columns of a row, as a tuple also when it is one."""
    if len(columns) == 1:
        get = attrgetter(columns[0])
        return lambda row: (get(row),)
    return attrgetter(*columns) if columns else None


class Log(Columns[R]):
    """Rows that are only ever appended, and never decided on."""

    @overload
    def __get__(self, owner: HoldsRows, kind: type) -> list[R]: ...
    @overload
    def __get__(self, owner: None, kind: type) -> "Log[R]": ...
    def __get__(self, owner: HoldsRows | None, kind: type) -> "list[R] | Log[R]":
        if owner is None:
            return self
        made = owner.__dict__[self.attribute] = list[R]()
        return made
