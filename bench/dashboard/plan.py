"""What a run does on one engine: pages of a quiet shop, the same while payments come in, exports; then an audit."""

import asyncio
import time
from contextlib import AbstractContextManager, closing
from statistics import median
from typing import Final

import msgspec

from bench.audit import require_clean
from bench.dashboard.browser import Browser, Times, load_all
from bench.dashboard.exports import Exporter, Slow, Whole
from bench.dashboard.ground import Ground
from bench.dashboard.lag import LagWatch
from bench.dashboard.pages import Page, pages_of
from bench.dashboard.pays import Pays, paying
from bench.dashboard.people import Doors, open_doors
from bench.display import Display
from bench.failure import BenchFailed
from bench.lists import wait_until_quiet
from bench.target import Server, running_service
from qirsh.domain.money import CURRENCIES

_SETTLE_S_MAX: Final = 1800  # For all that was filled in past the service.


class Pace(msgspec.Struct, frozen=True):
    """How long and how often."""

    rounds: int  # Each page is loaded so often.
    beside_s: float  # Pays without an export, and with one,
    beside_rounds: int  # so often.
    slow_s: float


FULL: Final = Pace(rounds=40, beside_s=10, beside_rounds=3, slow_s=6)
QUICK: Final = Pace(rounds=20, beside_s=5, beside_rounds=2, slow_s=4)


class Exports(msgspec.Struct, frozen=True):
    """What was seen of them."""

    lines: int
    whole: dict[str, Whole]  # By what the file's name ends with.
    pays_p99_ms: list[tuple[float, float]]  # Without an export and with one, in each round.
    slow: Slow

    @property
    def pays_ratio(self) -> float:
        """By how much the slowest pays are slower while an export is taken."""
        return median(beside / before for before, beside in self.pays_p99_ms)


class Outcome(msgspec.Struct, frozen=True):
    """What was measured on one engine, on books that balanced afterwards."""

    engine: str
    version: str
    pages: list[Page]
    quiet: dict[str, Times]
    small: dict[str, Times]  # The same pages of a shop with a few payments.
    loaded: dict[str, Times]  # While payments come in.
    pays: Times  # Those, beside the pages.
    totals_ms: list[float]
    words_ms: list[float]
    exports: Exports


def carry_out(ground: Ground, pace: Pace, display: Display) -> Outcome:
    """All of it. Raises `BenchFailed` when the numbers would mean nothing."""
    filled = ground.filled
    doors = asyncio.run(
        open_doors(ground.read_settings(), filled.town, (filled.large.shop.owner, filled.small.shop.owner))
    )
    name = ground.version
    with running_service(ground.data_dir, **ground.settings) as server:
        display.say(f"{name}: waiting until all is sealed and counted")
        wait_until_quiet(server, _SETTLE_S_MAX)
        _wait_until_counted(ground)
        found = _Run(ground, pace, server, doors)
        display.say(f"{name}: pages of a shop with {filled.payments:,} payments, and of one with few")
        quiet, small = found.quiet()
        display.say(f"{name}: the same while payments come in")
        loaded, pays, lag = found.loaded()
        display.say(f"{name}: exports")
        exports = found.exports()
    display.say(f"{name}: verifying the books")
    require_clean(ground.address)
    return Outcome(
        engine=ground.engine,
        version=name,
        pages=pages_of(filled.large),
        quiet=quiet,
        small=small,
        loaded=loaded,
        pays=pays,
        totals_ms=lag.totals_ms,
        words_ms=lag.words_ms,
        exports=exports,
    )


def _wait_until_counted(ground: Ground) -> None:
    """The worker rests between its commits, so that a quiet service may still have something to count."""
    shop = ground.filled.large.shop.account
    end = time.monotonic() + _SETTLE_S_MAX
    while any(ground.books.behind(shop, currency, 2**62)[0] for currency in CURRENCIES):
        if time.monotonic() > end:
            raise BenchFailed("the totals are not counted")
        time.sleep(1)


class _Run:
    def __init__(self, ground: Ground, pace: Pace, server: Server, doors: Doors) -> None:
        self._ground = ground
        self._pace = pace
        self._server = server
        self._doors = doors

    def quiet(self) -> tuple[dict[str, Times], dict[str, Times]]:
        """The large shop and the small one in turn."""
        filled = self._ground.filled
        with (
            closing(Browser(self._server, self._doors.large)) as large,
            closing(Browser(self._server, self._doors.small)) as small,
        ):
            # Of so few payments, none may have been refunded.
            few = [page for page in pages_of(filled.small) if page.addresses]
            found = load_all([(large, pages_of(filled.large)), (small, few)], self._pace.rounds)
            return found[0], found[1]

    def loaded(self) -> tuple[dict[str, Times], Times, LagWatch]:
        """The large shop, which all the payments are for."""
        large = self._ground.filled.large
        lag = LagWatch(self._ground.books, large.shop.account)
        with (
            self._paying() as pays,
            closing(Browser(self._server, self._doors.large)) as browser,
        ):
            began = time.monotonic()
            [found] = load_all([(browser, pages_of(large))], self._pace.rounds, warm=0, between=lag.look)
            end = time.monotonic()
            time.sleep(1)  # What was due in the last moment is paid by then.
            return found, pays.between(began, end)[1], lag

    def exports(self) -> Exports:
        """Alone at first, then beside pays, then for a slow reader."""
        pace = self._pace
        exporter = Exporter(self._server, self._ground.filled.large.shop.account, self._doors.large)
        lines = exporter.lines()  # The first one warms what the others find warm.
        whole = {ending: exporter.whole(ending) for ending in ("csv", "xlsx")}
        with self._paying() as pays:
            seen = [exporter.beside(pays, "csv", pace.beside_s) for _ in range(pace.beside_rounds)]
        wait_until_quiet(self._server)
        return Exports(
            lines=lines,
            whole=whole,
            pays_p99_ms=[(before.percentile(99), beside.percentile(99)) for before, beside in seen],
            slow=exporter.slow(self._ground.in_use(), pace.slow_s),
        )

    def _paying(self) -> AbstractContextManager[Pays]:
        key = self._ground.filled.town.shops[0].key
        return paying(self._server, key, self._doors.customers, self._ground.data_dir)
