"""The report on backups: what they cost beside pays, and how long it takes to come back."""

from collections.abc import Iterator, Sequence
from typing import Final

from bench.backup.paying import Beside, p99_ms, rate
from bench.backup.plan import Outcome, Pace
from bench.backup.program import Ended
from bench.measure import CONNECTIONS
from bench.report import Check, Report, Table, mark

PAYS_RATIO_MIN: Final = 0.8
BACKUP_MB_MAX: Final = 150.0
RESTORE_MB_MAX: Final = 600.0  # SQLite's cache is 256 MiB of it.
_FULL_SPEED: Final = "as fast as it can"


def report(outcomes: Sequence[Outcome], payments: int, pace: Pace) -> Report:
    """What was measured, and what should have been."""
    return Report(
        "Performance of backup and restore",
        [
            Table(
                f"a backup of {payments:,} payments, while others are paid",
                ("engine", "rows", "MB of lines", "MB of file", "seconds", "CPU s", "peak MB"),
                [_taken(one) for one in outcomes],
            ),
            Table(
                "pays beside it",
                ("engine", "pays a second\nwithout", "meanwhile", "ratio", "p99 ms\nwithout", "meanwhile"),
                [row for one in outcomes for row in _pays(one, pace)],
            ),
            Table(
                "coming back on the other engine",
                ("step", "seconds", "CPU s", "peak MB"),
                [row for one in outcomes for row in _steps(one)],
            ),
        ],
        _legend(),
        [check for one in outcomes for check in _checks(one)],
        _method(pace),
    )


def _legend() -> str:
    return (
        "Peak MB is the most memory that the process of the command had resident, CPU s its CPU alone: PostgreSQL works"
        " in processes of its own. `restore` reads the file once to check it, loads it, builds what the tables need and"
        f" checks every rule before it says yes. Targets: pays meanwhile ≥ {PAYS_RATIO_MIN} of those without; peak MB"
        f" of a backup ≤ {BACKUP_MB_MAX:.0f}, of a restore ≤ {RESTORE_MB_MAX:.0f}."
    )


def _taken(outcome: Outcome) -> tuple[str, ...]:
    manifest, backup = outcome.manifest, outcome.backup
    return (
        outcome.version,
        f"{manifest.rows:,}",
        f"{manifest.bytes / 1e6:,.0f}",
        f"{outcome.file_bytes / 1e6:,.0f}",
        *_figures(backup, BACKUP_MB_MAX),
    )


def _pays(outcome: Outcome, pace: Pace) -> Iterator[tuple[str, ...]]:
    for how, beside in ((_FULL_SPEED, outcome.free), (f"at {pace.mib_per_s:g} MiB/s", outcome.slow)):
        yield (
            f"{_name(outcome.version)}, {how}",
            f"{rate(beside.without):,.0f}",
            f"{rate(beside.meanwhile):,.0f}",
            f"{beside.ratio:.2f} {mark(is_met=_is_enough(beside))}",
            f"{p99_ms(beside.without):.1f}",
            f"{p99_ms(beside.meanwhile):.1f}",
        )


def _steps(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    yield f"check of the file from {_name(outcome.version)}", *_figures(outcome.back.check, BACKUP_MB_MAX)
    yield f"restore into {_name(outcome.back.into)}", *_figures(outcome.back.restore, RESTORE_MB_MAX)
    yield f"verify of {_name(outcome.back.into)}, again", *_figures(outcome.back.verify, None)


def _figures(ended: Ended, mb_max: float | None) -> tuple[str, ...]:
    met = "" if mb_max is None else f" {mark(is_met=ended.peak_mb <= mb_max)}"
    return f"{ended.seconds:.1f}", f"{ended.cpu_s:.1f}", f"{ended.peak_mb:.0f}{met}"


def _checks(outcome: Outcome) -> Iterator[Check]:
    name = _name(outcome.version)
    for beside, which in ((outcome.free, "a backup"), (outcome.slow, "one that is held back")):
        yield Check(
            _is_enough(beside),
            f"{name}: beside {which} {beside.ratio:.2f} of the pays are made (≥ {PAYS_RATIO_MIN})",
        )
    backup, restore = outcome.backup, outcome.back.restore
    yield Check(
        backup.peak_mb <= BACKUP_MB_MAX and restore.peak_mb <= RESTORE_MB_MAX,
        f"{name}: half of its time over, a backup has had {backup.half_way_mb:.0f} MB, and {backup.peak_mb:.0f} MB at"
        f" its end; its restore into {_name(outcome.back.into)} {restore.half_way_mb:.0f} and {restore.peak_mb:.0f} MB",
    )
    yield Check(
        is_met=True,
        text=f"{name}: everything that was paid before the backup began is in it, and restored into"
        f" {_name(outcome.back.into)} every rule holds",
    )


def _is_enough(beside: Beside) -> bool:
    return beside.ratio >= PAYS_RATIO_MIN


def _name(version: str) -> str:
    return version.partition(" ")[0]


def _method(pace: Pace) -> str:
    return (
        f"`qirsh serve` runs as one process, and wrk pays at it over {CONNECTIONS} connections, each as soon as it is"
        f" answered, in slices of {pace.seconds} s: {pace.slices} before the backup, as many as there is time for"
        f" beside it, {pace.slices} after it, and some beside another backup with `--mib-per-s {pace.mib_per_s:g}`,"
        " which is ended before it is done. Rates and p99 are the medians of slices, and the ratio compares slices of"
        " one run. Service, wrk, database and backup share the cores of one machine, which an installation that is"
        " under such load would not have them do. The backup is then read by `qirsh backup check`, restored into an"
        " empty place of the other engine by `qirsh restore`, and looked over again by `qirsh verify`."
    )
