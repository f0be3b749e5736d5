"""A database of either engine with everybody in it, made or found again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.console.crowd import Crowd, gather, operators_of
from bench.console.entries import PostgresqlBooks, SqliteBooks, entries_of
from bench.console.size import Size
from bench.dashboard import ground as shop_ground
from bench.dashboard.ground import ENGINES, Ground
from bench.display import Display
from bench.seed import Town
from qirsh.settings import Settings


class _Kept(msgspec.Struct, frozen=True):
    size: Size
    crowd: Crowd


class Desk(msgspec.Struct, frozen=True):
    """Where a run takes place, and who is there."""

    ground: Ground
    size: Size
    crowd: Crowd


@contextmanager
def prepared(engine: str, place: Path, size: Size, display: Display) -> Iterator[Desk]:
    """In this place, where an earlier run may have left it."""
    file = place / engine / f"crowd-{size.payments}.json"
    kept = msgspec.json.decode(file.read_bytes(), type=_Kept) if file.exists() else None
    if kept is None or kept.size != size:
        # Payments without everybody else are of a run that did not come to its end.
        (place / engine / f"filled-{size.payments}.json").unlink(missing_ok=True)

    def before_payments(settings: Settings, town: Town) -> None:
        name = ENGINES[engine]
        crowd = fill(settings, town, size, lambda what: display.say(f"{name}: {what}"))
        file.write_bytes(msgspec.json.encode(_Kept(size, crowd)))

    with shop_ground.prepared(engine, place, size.payments, display, before_payments=before_payments) as ground:
        kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
        yield Desk(ground, size, kept.crowd)


def fill(settings: Settings, town: Town, size: Size, say: Callable[[str], None]) -> Crowd:
    """Everybody else, before there are payments: SQLite looks through all of them for each of two who join at once."""
    books: SqliteBooks | PostgresqlBooks
    if isinstance(settings.database, Path):
        books = SqliteBooks(settings.data_dir, town)
    else:
        books = PostgresqlBooks(settings.database, town)
    # Those who come afterwards bring two entries each.
    count = max(size.entries - 2 * size.people, size.entries // 10)
    say(f"{count:,} entries of the audit log")
    accounts = [*town.payers, *(shop.account for shop in town.shops)]
    entries = entries_of(count, people=size.people, operators=operators_of(settings), accounts=accounts)
    try:
        books.add_entries(entries)
    finally:
        books.close()
    return gather(settings, size, say)
