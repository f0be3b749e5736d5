"""A full disk: writes are refused and say so, reads go on, nothing acknowledged is lost, and space is all it takes."""

import contextlib
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol

import httpx2
import pytest

from tests.faults.load import Load
from tests.faults.served import Founded, Served, scratch_folder
from tests.live import BALANCES, Call, retrieve
from tests.waiting import wait_until

_DISK_MIB: Final = 16
_LEFT_BYTES: Final = 3 << 20
_REFUSALS: Final = 40


class Disk(Protocol):
    """Where the data lies, and how its space is taken and given back."""

    world: Served

    def fill(self) -> None:
        """Leave room for a little more."""

    def free(self) -> None:
        """Make room."""


class SmallDisk:
    """A file system of a few MiB, and a file that takes most of it. What is written fills the rest."""

    def __init__(self, world: Served) -> None:
        self.world = world
        self._ballast = world.settings.data_dir / "ballast"

    def fill(self) -> None:
        """The load does what is left to do."""
        free = shutil.disk_usage(self._ballast.parent).free
        self._ballast.write_bytes(bytes(free - _LEFT_BYTES))

    def free(self) -> None:
        """As an operator would."""
        self._ballast.unlink()


class ToldDisk:
    """Tells SQLite that it is full, in the middle of a commit. Needs no rights."""

    def __init__(self, world: Served) -> None:
        self.world = world

    def fill(self) -> None:
        """After some more writes."""
        self.world.obey("full write 201")

    def free(self) -> None:
        """From now on."""
        self.world.obey()


@pytest.fixture(params=["a small file system", "a disk that says so"])
def disk(request: pytest.FixtureRequest, founded: Founded) -> Iterator[Disk]:
    """Nearly full."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        if request.param == "a disk that says so":
            yield ToldDisk(stack.enter_context(Served(folder, founded, is_shimmed=True, has_workers=False)))
        else:
            stack.enter_context(_small_file_system(folder))
            yield SmallDisk(stack.enter_context(Served(folder, founded)))


@contextlib.contextmanager
def _small_file_system(folder: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: a real full disk. Only root may mount a small file system; run this as root.")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MIB}m,mode=700", "qirsh-faults", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_refuses_writes_loses_nothing_and_recovers_with_space_alone(disk: Disk) -> None:
    world, history = disk.world, disk.world.history
    # Thick payments, so that it does not take long.
    load = Load(world, history, seed=83, metadata={"filling": "x" * 6000})
    world.run(load.run(lambda: len(history.having("ok")) >= 50))
    assert "unavailable" not in load.refusals

    disk.fill()
    world.run(load.run(_until_refused(load, _REFUSALS)))
    # Every call had an answer, and each answer was honest: a refusal for want of space says when to come back.
    assert load.refusals["unavailable"] >= _REFUSALS
    history.check()

    # What a crowd could not write together, one alone may still, until there is no room for that either.
    world.run(load.run(_until_refused(load, _REFUSALS + 20), clients=1))
    ready = _not_ready(world, load)
    assert any("full" in cause for cause in ready.json()["causes"])
    # Whoever only reads notices nothing.
    assert world.send(Call("GET", "/healthz")).status_code == 200
    kept = history.having("ok", "create")[0]
    merchant = next(one for one in world.merchants if int(one.account) == kept.account)
    assert world.data(retrieve(merchant.key, kept.payment_id))["note"] == kept.key
    assert world.data(Call("GET", BALANCES, world.customers[0].token))["items"]
    history.check()

    disk.free()
    denied = [one for one in history.having("fail") if one.refusal == "unavailable"]
    # With the same key, because nothing was done before.
    world.run(history.retry(denied))
    outcomes = Counter((one.outcome, one.refusal) for one in denied)
    assert outcomes["ok", ""] > 0
    assert ("fail", "unavailable") not in outcomes
    assert not any(one.was_replayed for one in denied)
    for one in denied:
        load.resolved(one)
    wait_until(lambda: world.now_ready().status_code == 200)
    already = len(history.having("ok"))
    world.run(load.run(lambda: len(history.having("ok")) >= already + 50))
    assert world.process.poll() is None, "it was restarted"
    history.check()

    # Full once more, it is killed, and has everything when there is space again.
    disk.fill()
    world.run(load.run(_until_refused(load, load.refusals["unavailable"] + _REFUSALS)))
    world.process.kill()
    world.ended()
    disk.free()
    world.restart()
    history.check()
    world.verify()


def _until_refused(load: Load, count: int) -> Callable[[], bool]:
    return lambda: load.refusals["unavailable"] >= count


def _not_ready(world: Served, load: Load) -> httpx2.Response:
    """What it says of itself after a write that failed. A seal of the chain may still find room, and clear that."""
    while True:
        world.run(load.run(_until_refused(load, load.refusals["unavailable"] + 1), clients=1))
        ready = world.now_ready()
        if ready.status_code == 503:
            return ready
