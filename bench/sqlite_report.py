"""The report on SQLite: one process, beside hello and a bare durable commit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from bench import lists
from bench.case import CASES, CREATE, GROWTH_RATIO_MIN, LONE_RATIO_MAX, MEMORY_MB_MAX
from bench.load import Run
from bench.measure import CONNECTIONS, Measured, Pace, Round, growth
from bench.plan import GROWN, Outcome
from bench.report import Check, Report, Table, mark

_COLUMNS: Final = (
    "call",
    "CPU /\nhello's",
    "CPU\nµs",
    "rate /\nhello's",
    "per s",
    f"ms at\n{CONNECTIONS}",
    "ms at\n1",
    "MB",
)


def report(outcome: Outcome, pace: Pace) -> Report:
    """What was measured, and what should have been."""
    tables = [Table(title, _COLUMNS, list(_rows(measured))) for title, measured in _tables(outcome)]
    if outcome.lists:
        tables.append(lists.table(outcome.lists))
    return Report("Performance", tables, _legend(), _checks(outcome), _method(pace))


def _checks(outcome: Outcome) -> list[Check]:
    found = [_lone(one, title) for title, measured in _tables(outcome) for one in measured if one.case is CREATE]
    for empty, grown in zip(outcome.empty, outcome.grown, strict=False):
        ratio = growth(empty, grown)
        text = f"{empty.case.name} with {GROWN:,} payments: {ratio:.2f} of the rate without (≥ {GROWTH_RATIO_MIN})"
        found.append(Check(ratio >= GROWTH_RATIO_MIN, text))
    peak_mb = max(one.peak_mb for one in (*outcome.empty, *outcome.grown))
    found.append(Check(peak_mb < MEMORY_MB_MAX, f"memory: {peak_mb:.0f} MB at most (< {MEMORY_MB_MAX:.0f})"))
    if outcome.lists:
        found.append(lists.check(outcome.lists))
    found.append(Check(is_met=True, text="every request succeeded, and the books balance"))
    return found


def _tables(outcome: Outcome) -> Iterator[tuple[str, list[Measured]]]:
    yield "empty database", outcome.empty
    if outcome.grown:
        yield f"{GROWN:,} payments", outcome.grown


def _rows(measured: Sequence[Measured]) -> Iterator[tuple[str, ...]]:
    # Hello was measured beside every case: its row is the middle one of all its rounds.
    hellos = Measured(measured[0].case, [a_round for one in measured for a_round in one.rounds], 0)
    yield ("hello", "1.00", *_seen(hellos, lambda r: r.hello, lambda r: r.lone_hello, "1.00"), "")
    for one in measured:
        case = one.case
        cpu = f"{one.cpu_ratio:.2f} {mark(is_met=one.cpu_ratio <= case.cpu_ratio_max)}"
        rate = f"{one.rate_ratio:.2f} {mark(is_met=one.rate_ratio >= case.rate_ratio_min)}"
        yield (case.name, cpu, *_seen(one, lambda r: r.case, lambda r: r.lone_case, rate), f"{one.peak_mb:.0f}")


def _seen(
    measured: Measured, many: Callable[[Round], Run], lone: Callable[[Round], Run], rate: str
) -> tuple[str, str, str, str, str]:
    return (
        f"{measured.median(lambda r: many(r).cpu_us):.0f}",
        rate,
        f"{measured.median(lambda r: many(r).per_s):,.0f}",
        f"{measured.median(lambda r: many(r).p50_ms):.1f}/{measured.median(lambda r: many(r).p99_ms):.1f}",
        f"{measured.median(lambda r: lone(r).p50_ms):.2f}/{measured.median(lambda r: lone(r).p99_ms):.2f}",
    )


def _lone(one: Measured, where: str) -> Check:
    lone_ms, hello_ms = one.median(lambda r: r.lone_case.p50_ms), one.median(lambda r: r.lone_hello.p50_ms)
    commit_ms = one.median(lambda r: r.commit_ms)
    text = (
        f"a lone create ({where}) takes {lone_ms:.2f} ms: {one.lone_ratio:.1f} times one hello ({hello_ms:.2f} ms)"
        f" and one durable commit ({commit_ms:.2f} ms) (≤ {LONE_RATIO_MAX:.0f})"
    )
    return Check(one.lone_ratio <= LONE_RATIO_MAX, text)


def _legend() -> str:
    cpu = ", ".join(f"{case.name} ≤ {case.cpu_ratio_max}" for case in CASES)
    rate = ", ".join(f"{case.name} ≥ {case.rate_ratio_min}" for case in CASES)
    return (
        "create sends 200 bytes of metadata and an Idempotency-Key, create-bare neither. CPU is the server's, for a"
        " request; ms are p50/p99; MB is the most resident at any time."
        f" Targets: CPU {cpu}; rate {rate}."
    )


def _method(pace: Pace) -> str:
    return (
        "`qirsh serve` runs as its own process on a fresh database, with one merchant and customers who pay in turn;"
        " every call is authenticated, every write is durable before it is answered, and rate limits are off."
        " Beside it run a second one on a large database and a bare ASGI hello on the same uvicorn with the same"
        f" options. wrk loads them in turn, {pace.rounds} rounds of {pace.seconds} s each at {CONNECTIONS} connections"
        f" and {pace.lone_seconds} s each at one; each ratio compares what was measured in one round, and the median"
        " is shown. The headline is the server's own CPU time for a request, user and system, over all its"
        " threads, divided by hello's: other work on the machine moves rates and waits, and hardly moves this."
        f" Times at {CONNECTIONS} connections are those of a full queue; what one caller waits stands under `at 1`."
        " Memory is the most the process ever had resident. A run with one failed request is refused, and at the"
        " end every invariant of the books is checked."
    )
