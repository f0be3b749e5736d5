"""`qirsh restored`: the database is that of an earlier time, and other programs than ours have put it back."""

import asyncio
import time
from pathlib import Path
from typing import Any, Final

import click
import uvloop

from qirsh.cli.errors import Stopped
from qirsh.contract.timestamps import milliseconds, timestamp
from qirsh.doctor.database_probe import has_begun, is_served, shown
from qirsh.domain.limits import EPOCHS_MAX, LEASE_MS
from qirsh.domain.restore import Restore
from qirsh.engine.chain_memory import ChainMemory
from qirsh.service import opened_store
from qirsh.settings import Settings, read_settings
from qirsh.store.interface import DatabaseInUse, OutcomeUnknown, Query, Store
from qirsh.store.postgres.long_transaction import long_transaction
from qirsh.store.record_restore import record_restore
from qirsh.web.operator.peer import own_user, user_name

_LOOKS: Final = 5
_LOOK_EVERY_S: Final = 0.3
_RUNS: Final = "a server has {} open: stop all servers first, and start them after this"
# What its processes do holds a lease each: of one that was killed, for some seconds more.
_HELD_UNTIL: Final = Query("SELECT max(until) FROM lease WHERE until > $1 AND until <= $2")
_FIRST_AT: Final = Query("SELECT at FROM audit ORDER BY id LIMIT 1")

_CHANGED: Final = """\
No id is given again that was given out after that time: payments, accounts, people, events and transfers are counted
on in epoch {epoch}. Sessions, mailed codes and mails that waited are gone. Webhooks begin with the next event, and
notices with the next transfer; shops can have earlier events sent again. Money stands still.
"""
_UNKNOWN: Final = """\
What nobody can know from this database, and you should look at before money moves:
  Whether this copy, or a later one, was restored before. If so, epoch {epoch} may have been, and its ids are given out
  again: before you start a server, run `qirsh restored` again with --after-epoch and the last epoch that was.
  API keys, passwords, two-step verification, PINs, roles and blocked people are as they were then. A key that was
  revoked since works again.
  Money that moved since is not in these books. Compare them with the bank (`qirsh bank import`, `bank reconcile`) and
  with what shops and customers were told; put right what differs (`qirsh deposit ask`, `withdraw ask`, `adjust ask`).
  Requests of shops since are forgotten, with their idempotency keys: a request that is sent again is carried out.
When you are done: `qirsh audit lift`, or the page Ledger of the console; another operator confirms it."""


class _Moment(click.ParamType[int]):
    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - as click has it
        """Milliseconds since 1970."""
        if isinstance(value, int):
            return value
        found = milliseconds(value)
        if found is None:
            self.fail("is not like 2026-11-18T07:45:00Z or 2026-11-18T10:45:00+03:00", param, ctx)
        return found


@click.command("restored")
@click.option("--taken-at", type=_Moment(), required=True, help="So far the database knows: the time of the snapshot.")
@click.option(
    "--after-epoch",
    type=click.IntRange(0, EPOCHS_MAX - 2),
    default=0,
    help="The last epoch that there was, if this copy, or one after it, has been restored before, and elsewhere.",
)
def restored_command(*, taken_at: int, after_epoch: int) -> None:
    """Say that the database was put back to an earlier time, before it is served again.

    After a file-system snapshot or a point-in-time recovery; `qirsh restore` does it by itself. Money stands still
    until two operators lift the stop.
    """
    settings = read_settings()
    if not has_begun(settings):
        setting = "QIRSH_DATA_DIR" if isinstance(settings.database, Path) else "QIRSH_DATABASE_URL"
        message = f"there is no database at {shown(settings)}: is {setting} right?"
        raise Stopped(message)
    if _stays_served(settings):
        raise Stopped(_RUNS.format(shown(settings)))
    try:
        known = ChainMemory(settings.data_dir).last_epoch()
        restore = uvloop.run(_restored(settings, taken_at, max(after_epoch, known)))
    except DatabaseInUse:
        raise Stopped(_RUNS.format(shown(settings))) from None
    except OutcomeUnknown as error:
        message = f"{error}: it was recorded or not; run this again, which does no harm if it was"
        raise Stopped(message) from None
    click.echo(f"Recorded: {shown(settings)} was restored to {timestamp(restore.taken_at)}")
    tell_restored(restore)


def _stays_served(settings: Settings) -> bool:
    """Connections of a program that has just ended are there for a moment more."""
    for _ in range(_LOOKS):
        if not is_served(settings):
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


def tell_restored(restore: Restore) -> None:
    """What a restore has changed, and what people have to find out."""
    click.echo(_CHANGED.format(epoch=restore.epoch))
    click.echo(_UNKNOWN.format(epoch=restore.epoch))


async def _restored(settings: Settings, taken_at: int, after_epoch: int) -> Restore:
    done_by = await user_name(own_user())
    async with opened_store(settings, may_be_set_back=True) as store:
        await _check(store, taken_at)
        instance = store.instance
        if isinstance(settings.database, Path):
            return await record_restore(store, taken_at, done_by, epoch_above=after_epoch)
    async with long_transaction(settings.database, instance) as transaction:
        # From here on a server that starts waits, and one that has started before is seen.
        if await asyncio.to_thread(_stays_served, settings):
            raise DatabaseInUse
        return await record_restore(transaction, taken_at, done_by, epoch_above=after_epoch)


async def _check(store: Store, taken_at: int) -> None:
    """Before anything changes."""
    now = await store.now()
    if taken_at > now:
        message = f"--taken-at {timestamp(taken_at)} is in the future: give the time of the snapshot"
        raise Stopped(message)
    for (first,) in await store.select(_FIRST_AT):
        if taken_at < first:
            message = f"--taken-at {timestamp(taken_at)} is before {timestamp(first)}, when this database began"
            raise Stopped(message)
    [(until,)] = await store.select(_HELD_UNTIL, now, now + LEASE_MS)
    if until is not None:
        message = (
            "a server uses this database, or was killed a moment ago: stop it, and try again in"
            f" {(until - now) // 1000 + 1} seconds"
        )
        raise Stopped(message)
    if store.instance.epoch + 1 >= EPOCHS_MAX:
        message = (
            f"this database was restored {store.instance.epoch} times, and account numbers are used up: ask for help"
        )
        raise Stopped(message)
