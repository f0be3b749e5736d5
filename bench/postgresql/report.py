"""The report on PostgreSQL: the service with one process and with two, beside pgbench and hello."""

from collections.abc import Iterator
from typing import Final

from bench import lists
from bench.case import MEMORY_MB_MAX
from bench.measure import CONNECTIONS
from bench.postgresql.call import (
    CALLS,
    CREATE_BARE,
    HELLO,
    HOT_RATIO_MIN,
    PAY,
    PAY_HOT,
    RETRIEVE,
    TWO_RATIO_MIN,
    Call,
)
from bench.postgresql.plan import PROCESSES, SHOPS, SMALL, Key, Outcome
from bench.postgresql.reference import CLIENTS, REFERENCES, SCALE, THREADS
from bench.postgresql.server import SETTINGS
from bench.report import Check, Report, Table, mark

GROWTH_RATIO_MIN: Final = 0.8  # The rate with millions of payments over the rate without.

_BARS: Final = ("per s", f"ms at\n{CONNECTIONS}", "CPU µs,\nservice", "CPU µs,\ndatabase")
_COLUMNS: Final = ("call", "rate /\nsimple", "rate /\nprepared", *_BARS)


def report(outcome: Outcome) -> Report:
    """What was measured, and what should have been."""
    sizes = outcome.options.sizes
    bars = (_BARS[0], "ms", *_BARS[2:])
    tables = [Table("beside the service", ("yardstick", *bars), list(_yardsticks(outcome)))]
    tables += [Table(_title(payments), _COLUMNS, list(_rows(outcome, payments))) for payments in sizes]
    titles = tuple(_title(payments).replace(" ", "\n", 1) for payments in sizes)
    over_one = f"two processes over one (≥ {TWO_RATIO_MIN})"
    tables.append(Table(over_one, ("call", *titles), list(_two_over_one(outcome))))
    if {PAY, PAY_HOT} <= set(outcome.options.calls):
        hot = f"one shop over {SHOPS} (≥ {HOT_RATIO_MIN})"
        tables.append(Table(hot, ("call", *titles), list(_hot_over_spread(outcome))))
    if sizes[1:]:
        grown = f"many payments over none (≥ {GROWTH_RATIO_MIN})"
        tables.append(Table(grown, ("call", *titles[1:]), list(_grown_over_empty(outcome))))
    if outcome.lists:
        tables.append(lists.table(outcome.lists))
    return Report("Performance on PostgreSQL", tables, _legend(outcome), _checks(outcome), _method(outcome))


def _title(payments: int) -> str:
    return "empty database" if payments == SMALL else f"{payments:,} payments"


def _named(call: Call, processes: int) -> str:
    return call.name if processes == 1 else f"{call.name} by {processes}"


def _yardsticks(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for reference in REFERENCES:
        per_s, times, _, database = _bars(outcome, Key(reference.name))
        yield f"pgbench: {reference.name}", per_s, times, "", database
    yield (HELLO, *_bars(outcome, Key(HELLO))[:3], "")


def _rows(outcome: Outcome, payments: int) -> Iterator[tuple[str, ...]]:
    for call in outcome.options.calls:
        for processes in PROCESSES:
            key = Key(call.name, payments, processes)
            ratio = _marked(outcome.ratio(key, Key(call.beside)), call.ratio_min)
            prepared = f"{outcome.ratio(key, Key(call.beside_prepared)):.2f}" if call.beside_prepared else ""
            yield (_named(call, processes), ratio, prepared, *_bars(outcome, key))


def _bars(outcome: Outcome, key: Key) -> tuple[str, str, str, str]:
    return (
        f"{outcome.median(key, lambda run: run.per_s):,.0f}",
        f"{_ms(outcome.median(key, lambda run: run.p50_ms))}/{_ms(outcome.median(key, lambda run: run.p99_ms))}",
        f"{outcome.median(key, lambda run: run.cpu_us):.0f}",
        f"{outcome.median(key, lambda run: run.database_cpu_us):.0f}",
    )


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - three digits are enough


def _two_over_one(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for call in outcome.options.calls:
        ratios = (
            outcome.ratio(Key(call.name, payments, 2), Key(call.name, payments, 1))
            for payments in outcome.options.sizes
        )
        yield (call.name, *(_marked(ratio, TWO_RATIO_MIN) for ratio in ratios))


def _hot_over_spread(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for processes in PROCESSES:
        ratios = (
            outcome.ratio(Key(PAY_HOT.name, payments, processes), Key(PAY.name, payments, processes))
            for payments in outcome.options.sizes
        )
        yield (_named(PAY_HOT, processes), *(_marked(ratio, HOT_RATIO_MIN) for ratio in ratios))


def _grown_over_empty(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    empty, *grown = outcome.options.sizes
    for call in outcome.options.calls:
        for processes in PROCESSES:
            ratios = (
                outcome.ratio(Key(call.name, payments, processes), Key(call.name, empty, processes))
                for payments in grown
            )
            yield (_named(call, processes), *(_marked(ratio, GROWTH_RATIO_MIN) for ratio in ratios))


def _marked(ratio: float, least: float | None) -> str:
    return f"{ratio:.2f}" if least is None else f"{ratio:.2f} {mark(is_met=ratio >= least)}"


def _checks(outcome: Outcome) -> list[Check]:
    peak_mb = outcome.peak_mb
    audited = " and ".join(f"{payments:,} payments in {seconds:.0f} s" for payments, seconds in outcome.audits.items())
    return [
        *([lists.check(outcome.lists)] if outcome.lists else []),
        Check(peak_mb < MEMORY_MB_MAX, f"memory of a process: {peak_mb:.0f} MB at most (< {MEMORY_MB_MAX:.0f})"),
        Check(is_met=True, text=f"every request succeeded, and the books balance (verified: {audited})"),
    ]


def _legend(outcome: Outcome) -> str:
    def target(call: Call) -> str:
        return f"{call.name} ≥ {call.ratio_min} of {call.beside}"

    targets = "; ".join(target(call) for call in CALLS if call.ratio_min is not None)
    return (
        f"create sends 200 bytes of metadata and an Idempotency-Key, {CREATE_BARE.name} neither; {PAY.name} is spread"
        f" over {SHOPS} shops and {outcome.options.payers:,} customers, {PAY_HOT.name} goes to one shop; `by 2` means"
        " by two processes of the service. Rates of creates are held against pgbench's inserts, those of pays against"
        " its TPC-B-like transactions, sent in its default protocol, simple, and beside it with prepared statements;"
        f" those of {RETRIEVE.name} against hello. The later tables show ratios of rates. CPU is for a request; ms are"
        f" p50/p99. Targets: {targets}."
    )


def _method(outcome: Outcome) -> str:
    options, pace = outcome.options, outcome.options.pace
    return (
        "One PostgreSQL server keeps its data on a real disk, with its default settings but for"
        f" {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())};"
        " every commit is durable before it is answered. pgbench of the same installation loads it with"
        f" {CLIENTS} clients and {THREADS} threads: its TPC-B-like transaction at scale {SCALE}, and inserts of one row"
        " shaped like a payment, with a primary key and the partial index on its expiry. `qirsh serve` runs in"
        " processes of its own on other databases of that server, one and two of them at a time, each with a port and a"
        f" wrk of its own; {CONNECTIONS} connections are spread evenly over them, rates are added, p50 is the mean of"
        " theirs and p99 the worse one. hello is a bare ASGI application on the same uvicorn, in one process. All"
        f" of it has its turn in each of {pace.rounds} rounds, for {pace.seconds} s; each ratio compares what was"
        " measured in one round, and the median is shown. The databases were filled beforehand with a month of"
        " payments, transfers, events and idempotency keys, vacuumed and checkpointed; the empty one began with"
        f" {options.sizes[0]:,} payments and, by the load itself, ended with {outcome.small_at_end:,}. PostgreSQL's CPU"
        " time is that of all its processes, with its background work. A run with one failed request is refused, and"
        " at the end every invariant of the books is checked in the databases that are named as verified; in that of"
        " ten million payments only if it is done in about three minutes."
    )
