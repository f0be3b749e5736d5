"""The report on the operator console: a table for each engine, and the targets."""

from collections.abc import Iterator, Sequence
from typing import Final

from bench.console.bank import MATCHED_S_MAX, UNDERSTOOD_S_MAX
from bench.console.pages import NO_TARGET, P90_MS_MAX, P90_MS_MAX_ACCOUNT
from bench.console.plan import Outcome
from bench.console.size import TIMES, Size
from bench.dashboard.browser import Times
from bench.dashboard.exports import MEMORY_MB_MAX
from bench.dashboard.pages import P99_MS_MAX, Page
from bench.dashboard.pays import PER_S
from bench.report import Check, Report, Table, mark

LOG_LINES_PER_S_MIN: Final = 20_000
_COLUMNS: Final = (
    "page",
    "ms",
    "CPU ms",
    f"ms, {TIMES} times\nless of all",
    "CPU ms,\nthe same",
    "CPU,\nratio",
    "ms, while\nothers pay",
)


def report(outcomes: Sequence[Outcome], size: Size, rounds: int) -> Report:
    """What was measured, and what should have been."""
    tables = [
        Table(
            f"pages of the operator console, {one.version}",
            _COLUMNS,
            [_row(one, page) for page in one.pages],
        )
        for one in outcomes
    ]
    checks = [check for one in outcomes for check in _checks(one)]
    checks.append(Check(is_met=True, text="every page came, every payment was made, and the books balance"))
    return Report(
        "Performance of the operator console",
        tables,
        _legend(),
        checks,
        _method(size, rounds),
    )


def _row(outcome: Outcome, page: Page) -> tuple[str, ...]:
    quiet, loaded, few = outcome.quiet[page.name], outcome.loaded[page.name], outcome.few.get(page.name)
    return (
        page.name,
        f"{quiet} {_mark(page, is_met=_is_quick(page, quiet))}",
        f"{quiet.cpu_ms:.1f}",
        str(few) if few else "",
        f"{few.cpu_ms:.1f}" if few else "",
        f"{quiet.cpu_ms / few.cpu_ms:.1f}" if few else "",
        f"{loaded} {_mark(page, is_met=_is_quick_enough(loaded))}",
    )


def _mark(page: Page, *, is_met: bool) -> str:
    return " " if page.p90_ms_max == NO_TARGET else mark(is_met=is_met)


def _is_quick(page: Page, times: Times) -> bool:
    return times.percentile(90) <= page.p90_ms_max


def _is_quick_enough(times: Times) -> bool:
    return times.percentile(99) < P99_MS_MAX


def _checks(outcome: Outcome) -> Iterator[Check]:
    engine = outcome.version.partition(" ")[0]
    for most, what in ((P90_MS_MAX, "pages"), (P90_MS_MAX_ACCOUNT, "pages of accounts")):
        pages = [page for page in outcome.pages if page.p90_ms_max == most]
        slowest = max(pages, key=lambda page: outcome.quiet[page.name].percentile(90))
        p90 = outcome.quiet[slowest.name].percentile(90)
        yield Check(
            p90 <= most, f"{engine}: of {what} the slowest ({slowest.name}) takes {p90:.1f} ms at p90 (≤ {most:.0f})"
        )
    aimed = [page.name for page in outcome.pages if page.p90_ms_max != NO_TARGET]
    every = Times([ms for name in aimed for ms in outcome.loaded[name].all_ms])
    worst = max(aimed, key=lambda name: outcome.loaded[name].percentile(99))
    yield Check(
        _is_quick_enough(every) and _is_quick_enough(outcome.loaded[worst]),
        f"{engine}: while {PER_S:.0f} payments a second are made and paid, 99 of 100 pages come within"
        f" {every.percentile(99):.0f} ms, of the slowest ({worst}) within"
        f" {outcome.loaded[worst].percentile(99):.0f} ms (< {P99_MS_MAX:.0f}); the pays take {outcome.pays} ms",
    )
    yield from _bank_checks(engine, outcome)
    log, per_s = outcome.log, outcome.log_lines / outcome.log.seconds
    yield Check(
        per_s >= LOG_LINES_PER_S_MIN,
        f"{engine}: {outcome.log_lines:,} entries of the audit log as CSV ({log.bytes / 1e6:.0f} MB):"
        f" {per_s:,.0f} lines a second (≥ {LOG_LINES_PER_S_MIN:,}), {log.cpu_s / outcome.log_lines * 1e6:.0f} us of CPU"
        " each",
    )
    yield Check(
        log.memory_mb <= MEMORY_MB_MAX,
        f"{engine}: memory grows by {log.memory_mb:.0f} MB meanwhile (≤ {MEMORY_MB_MAX:.0f})",
    )


def _bank_checks(engine: str, outcome: Outcome) -> Iterator[Check]:
    bank, few = outcome.bank, outcome.bank_few
    for what, took_s, few_s, most_s in (
        ("understood", bank.understood_s, few.understood_s, UNDERSTOOD_S_MAX),
        ("imported and matched with their deposits", bank.imported_s, few.imported_s, MATCHED_S_MAX),
    ):
        ratio = (took_s / bank.lines) / (few_s / few.lines)
        yield Check(
            took_s <= most_s,
            f"{engine}: {bank.lines:,} lines of the bank are {what} in {took_s:.1f} s (≤ {most_s:.0f}), each in"
            f" {took_s / bank.lines * 1e6:.0f} us, {ratio:.1f} times as long as of a file with {few.lines:,}",
        )


def _legend() -> str:
    return (
        "ms are p50/p90/p99, CPU ms those of the service for a page, which other work moves less; the ratio is that of"
        f" the CPU to the same page of a service with {TIMES} times less of everything. Targets: p90 ≤"
        f" {P90_MS_MAX:.0f} ms, of accounts ≤ {P90_MS_MAX_ACCOUNT:.0f} ms; while others pay p99 < {P99_MS_MAX:.0f} ms."
    )


def _method(size: Size, rounds: int) -> str:
    return (
        f"`qirsh serve` runs as one process on a database with {size.payments:,} payments, nearly all of one shop,"
        f" {size.people:,} people, {size.shops:,} shops, {size.entries:,} entries of the audit log and"
        f" {size.bank_lines:,} deposits. What waits: {size.identities:,} identities, {size.businesses:,} businesses,"
        f" {size.brands:,} names, {size.payouts:,} payouts, {size.proposals:,} proposals, {size.messages:,} messages,"
        f" {size.unmatched:,} lines of the bank. Payments and most entries are written past the service by its rules;"
        " everybody else is made by its own commands. An operator with all roles loads all pages in turn,"
        f" {rounds} times, in a browser without a cache on the same machine, each beside the same page of a second"
        f" service with {TIMES} times less; the times are those until the whole page was there. Then the same while"
        f" another process creates and pays {PER_S:.0f} payments a second through the API. The file of the bank is"
        " looked at and then imported by the act that the console and the command line call. The audit log is taken"
        f" whole, twice, and the second time counts. At the end every invariant of the books is checked."
    )
