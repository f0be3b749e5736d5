"""What the loss of a leader cost, on the screen and on the page. Timings have no targets; a lost payment has one."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from bench.cluster.node import TTL_S
from bench.failover.scene import Loss, Standstill, Toll
from bench.report import Check, Report, Table


class Outcome(msgspec.Struct, frozen=True):
    """One run, in which nothing was lost: it would have failed otherwise."""

    losses: Sequence[Loss]
    standstill: Standstill
    operations: int
    wanted_per_s: float
    held_per_s: float
    is_same_servers: bool


def report(outcome: Outcome) -> Report:
    """All of it."""
    return Report(
        title="What the loss of a machine costs",
        tables=[_losses(outcome.losses), _standstill(outcome.standstill)],
        legend=(
            "Without writes: the longest time between two acknowledgements around the loss. Unknown: whoever got no"
            " answer in time, lost the line, or was told `outcome_unknown`; each was sent again with its key, which"
            " told that it had been done (and was not done again), or did it now. Read back: everything that was"
            " acknowledged since the beginning, found in the books of the new leader."
        ),
        checks=_checks(outcome),
        method=_method(outcome),
    )


def _losses(losses: Sequence[Loss]) -> Table:
    columns = (
        *("leader was", "before,\nafter", "s without\nwrites", "s until\nthree again", "acknowledged"),
        *("503 with\nRetry-After", "unknown", "of these\nhad been done", "read back"),
    )
    rows = [
        (
            loss.how,
            f"{loss.old}, {loss.new}",
            f"{loss.without_writes_s:.1f}",
            f"{loss.whole_s:.1f}",
            *_paid_by_callers(loss.toll),
            f"{loss.read_back:,}",
        )
        for loss in losses
    ]
    return Table("the leader is lost", columns, rows)


def _standstill(standstill: Standstill) -> Table:
    columns = (
        *("both standbys\nare killed", "s", "begun\nmeanwhile", "acknowledged\nmeanwhile", "looks at\npayments"),
        *("shown\nas paid", "acknowledged\nbefore and after", "503 with\nRetry-After", "unknown"),
        *("of these\nhad been done", "read back"),
    )
    row = (
        *("", f"{standstill.seconds:.0f}", f"{standstill.begun:,}", str(standstill.acknowledged)),
        *(f"{standstill.looked:,}", str(standstill.shown_paid), *_paid_by_callers(standstill.toll)),
        f"{standstill.read_back:,}",
    )
    return Table("no standby is left", columns, [row])


def _paid_by_callers(toll: Toll) -> tuple[str, ...]:
    counts = (toll.acknowledged, toll.refused, toll.unknown, toll.resolved["was done"])
    return tuple(f"{count:,}" for count in counts)


def _checks(outcome: Outcome) -> list[Check]:
    tolls = [loss.toll for loss in outcome.losses] + [outcome.standstill.toll]
    killed, silent = ([one for one in outcome.losses if one.how == how] for how in ("killed", "silent"))
    unknown, resolved = sum(toll.unknown for toll in tolls), sum((toll.resolved for toll in tolls), Counter[str]())
    unanswered = sum((toll.unanswered for toll in tolls), Counter[str]())
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(resolved.items())) or "none"
    lines = ", ".join(f"{count:,} {what}" for what, count in sorted(unanswered.items())) or "none"
    read_back = outcome.standstill.read_back
    return [
        Check(
            is_met=True,
            text=f"lost: 0 of {read_back:,} acknowledged operations, in {len(killed)} kills and {len(silent)} silences",
        ),
        Check(
            unknown == resolved.total(),
            f"unknown outcomes: {unknown:,}, each resolved by its key ({told}); calls without an answer: {lines}",
        ),
        Check(
            outcome.standstill.acknowledged == outcome.standstill.shown_paid == 0,
            "without a standby nothing was acknowledged and nothing shown as paid; when they were back, all of it was"
            " there, once",
        ),
        Check(outcome.is_same_servers, "no server of Qirsh was started again"),
        Check(is_met=True, text="`qirsh verify` at the end found nothing wrong"),
        Check(
            outcome.held_per_s > 0.95 * outcome.wanted_per_s,
            f"load: {outcome.held_per_s:.0f} operations a second in the mean, {outcome.wanted_per_s:.0f} wanted,"
            f" {outcome.operations:,} in all",
        ),
        *(Check(is_met=True, text=_waits(losses)) for losses in (killed, silent) if losses),
    ]


def _waits(losses: Sequence[Loss]) -> str:
    waits = [loss.without_writes_s for loss in losses]
    return (
        f"time without writes, leader {losses[0].how}: {median(waits):.1f} s in the median, {max(waits):.1f} s at worst"
        " (no target)"
    )


def _method(outcome: Outcome) -> str:
    return (
        "Three PostgreSQL 18 with a Patroni each, one etcd, two processes of `qirsh serve` that know all three nodes,"
        " and the clients share one machine, on loopback (`make cluster` starts the same). A commit is acknowledged"
        " when one of two standbys has it on disk too (`synchronous_mode: quorum`, `synchronous_mode_strict: true`);"
        f" the leader's lease lasts {TTL_S} s, Patroni's shortest, and is most of the time without writes. Clients send"
        f" {outcome.wanted_per_s:.0f} operations a second, to both servers in turn, and none waits for another: 45 %"
        " create a payment, 35 % pay one through the wallet's API, 20 % refund a coin, each with an idempotency key;"
        " who has no answer after 30 s gives up. For each loss: 3 s of load, then Patroni and all processes of"
        " PostgreSQL of the leader are ended by SIGKILL, or, for a machine that falls silent, held by SIGSTOP; when"
        " writes are acknowledged again, the node is started or goes on, and the load ends 3 s after it is a standby"
        " that commits wait for. Then all that is unknown is sent again with its key, and the books of the leader are"
        " compared with everything that clients were told since the beginning: each acknowledged operation is there"
        " once, nothing that was refused is there, and balances, events and refunds are what these add up to. The"
        " servers of Qirsh run on from the first loss to the last."
    )
