"""The report on the pages of a shop: a table for each engine, and the targets."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from bench.dashboard.browser import Times
from bench.dashboard.exports import HELD_S_MAX, LINES_PER_S_MIN, MEMORY_MB_MAX, PAYS_RATIO_MAX
from bench.dashboard.ground import SMALL
from bench.dashboard.history import DAYS, METADATA_KEYS
from bench.dashboard.pages import P90_MS_MAX, P90_MS_MAX_OTHER, P99_MS_MAX, Page
from bench.dashboard.pays import PER_S
from bench.dashboard.people import PAYERS
from bench.dashboard.plan import Outcome, Pace
from bench.report import Check, Report, Table, mark

_TOTALS_S_MAX: Final = 6.0
_WORDS_S_MAX: Final = 1.0
_COLUMNS: Final = ("page", "ms", "CPU ms", "ms, a shop\nwith few", "CPU ms,\nthe same", "ms, while\nothers pay")


def report(outcomes: Sequence[Outcome], payments: int, pace: Pace) -> Report:
    """What was measured, and what should have been."""
    tables = [
        Table(f"pages of a shop with {payments:,} payments, {one.version}", _COLUMNS, list(_rows(one)))
        for one in outcomes
    ]
    checks = [check for one in outcomes for check in _checks(one)]
    checks.append(Check(is_met=True, text="every page came, every payment was made, and the books balance"))
    return Report("Performance of the dashboard", tables, _legend(), checks, _method(payments, pace))


def _rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for page in outcome.pages:
        quiet, loaded = outcome.quiet[page.name], outcome.loaded[page.name]
        few = outcome.small.get(page.name)
        quiet_mark, loaded_mark = mark(is_met=_is_quick(page, quiet)), mark(is_met=_is_quick_enough(loaded))
        yield (
            page.name,
            f"{quiet} {quiet_mark}",
            f"{quiet.cpu_ms:.1f}",
            str(few) if few else "",
            f"{few.cpu_ms:.1f}" if few else "",
            f"{loaded} {loaded_mark}",
        )


def _is_quick(page: Page, times: Times) -> bool:
    return times.percentile(90) <= page.p90_ms_max


def _is_quick_enough(times: Times) -> bool:
    return times.percentile(99) < P99_MS_MAX


def _checks(outcome: Outcome) -> Iterator[Check]:
    engine = outcome.version.partition(" ")[0]
    for most in (P90_MS_MAX, P90_MS_MAX_OTHER):
        pages = [page for page in outcome.pages if page.p90_ms_max == most]
        slowest = max(pages, key=lambda page: outcome.quiet[page.name].percentile(90))
        p90 = outcome.quiet[slowest.name].percentile(90)
        what = "overviews, lists, searches and reports" if most == P90_MS_MAX else "other pages"
        text = f"{engine}: of {what} the slowest ({slowest.name}) takes {p90:.1f} ms at p90 (≤ {most:.0f})"
        yield Check(p90 <= most, text)
    every = Times([ms for times in outcome.loaded.values() for ms in times.all_ms])
    worst = max(outcome.loaded, key=lambda name: outcome.loaded[name].percentile(99))
    yield Check(
        _is_quick_enough(every) and _is_quick_enough(outcome.loaded[worst]),
        f"{engine}: while {PER_S:.0f} payments a second are made and paid, 99 of 100 pages come within"
        f" {every.percentile(99):.0f} ms, of the slowest ({worst}) within"
        f" {outcome.loaded[worst].percentile(99):.0f} ms (< {P99_MS_MAX:.0f}); the pays take {outcome.pays} ms",
    )
    for what, lags_ms, most_s in (
        ("totals", outcome.totals_ms, _TOTALS_S_MAX),
        ("words", outcome.words_ms, _WORDS_S_MAX),
    ):
        behind_s = max(lags_ms) / 1000
        text = (
            f"{engine}: meanwhile {what} are at most {behind_s:.1f} s behind, half of the time"
            f" {median(lags_ms) / 1000:.1f} s (≤ {most_s:.0f})"
        )
        yield Check(behind_s <= most_s, text)
    yield from _export_checks(engine, outcome)


def _export_checks(engine: str, outcome: Outcome) -> Iterator[Check]:
    exports = outcome.exports
    for ending, whole in exports.whole.items():
        per_s, least = exports.lines / whole.seconds, LINES_PER_S_MIN[ending]
        text = (
            f"{engine}: {exports.lines:,} payments with {METADATA_KEYS} columns of metadata as {ending.upper()}"
            f" ({whole.bytes / 1e6:.0f} MB): {per_s:,.0f} lines a second (≥ {least:,}),"
            f" {whole.cpu_s / exports.lines * 1e6:.0f} us of CPU each"
        )
        yield Check(per_s >= least, text)
        text = f"{engine}: memory grows by {whole.memory_mb:.0f} MB meanwhile (≤ {MEMORY_MB_MAX:.0f})"
        yield Check(whole.memory_mb <= MEMORY_MB_MAX, text)
    before, beside = (median(times) for times in zip(*exports.pays_p99_ms, strict=True))
    yield Check(
        exports.pays_ratio <= PAYS_RATIO_MAX,
        f"{engine}: 99 of 100 pays take {beside:.1f} ms while an export is taken, and {before:.1f} ms without:"
        f" {exports.pays_ratio:.1f} times (≤ {PAYS_RATIO_MAX:.0f})",
    )
    slow = exports.slow
    yield Check(
        slow.held_s <= HELD_S_MAX,
        f"{engine}: while an export is taken at 10 kB/s, a connection to the database is in use for"
        f" {slow.held_s:.1f} s at a time at most and {slow.share:.0%} of the time; without it for"
        f" {slow.held_before_s:.1f} s and {slow.share_before:.0%} (≤ {HELD_S_MAX:.0f} s at a time)",
    )


def _legend() -> str:
    return (
        "ms are p50/p90/p99, CPU ms those of the service for a page, which other work moves less."
        f" Targets: p90 of overviews, lists, searches and reports ≤ {P90_MS_MAX:.0f} ms, of other pages"
        f" ≤ {P90_MS_MAX_OTHER:.0f} ms; while others pay p99 < {P99_MS_MAX:.0f} ms."
    )


def _method(payments: int, pace: Pace) -> str:
    return (
        f"`qirsh serve` runs as one process on a database with two shops: one with {payments:,} payments of {DAYS} days"
        f" in three currencies by {PAYERS} customers, nine in ten paid and some refunded, each with note, reference and"
        f" {METADATA_KEYS} keys of metadata, and one with {SMALL}. All pages of both are loaded in turn by a browser"
        f" without a cache on the same machine, {pace.rounds} times; the times are those until the whole page was"
        f" there. Then the same while another process creates and pays {PER_S:.0f} payments a second at that shop"
        " through the API."
        " Exports are taken whole, one after the other; then pays are measured without and with one,"
        f" {pace.beside_rounds} times for {pace.beside_s:.0f} s each, and the median of the ratios is shown. For the"
        f" slow reader, connections of PostgreSQL that are not idle and readers' locks of SQLite are looked at for"
        f" {pace.slow_s:.0f} s. At the end every invariant of the books is checked."
    )
