"""How far the chain went is remembered beside the database, by all processes of a machine, and never less of it."""

import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from qirsh.domain.identifier import Identifiers
from qirsh.engine.chain_memory import ChainMemory, SeenHead, expected_of, head_in, set_back
from qirsh.store.interface import UnusableDatabase
from qirsh.store.reads.chain_state import ChainState, read_state

KEY: Final = b"k" * 32
OURS: Final = Identifiers(KEY).fingerprint()
NOON: Final = 1_800_014_400_000  # 2027-01-15 12:00 UTC.


def seen(number: int, *, epoch: int = 0, database: str = OURS, seal: str = "", at: int = NOON) -> SeenHead:
    return SeenHead(database, epoch, number, seal or hash_of(number).hex(), at)


def hash_of(number: int) -> bytes:
    return bytes([number % 256]) * 32


def state(number: int, *seals: int, epoch: int = 0) -> ChainState:
    return ChainState(KEY, epoch, number, hash_of(number), {one: hash_of(one) for one in seals})


def test_the_highest_head_is_kept_in_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    assert memory.head_of(OURS) is None
    for number in (3, 7, 5):
        memory.keep(seen(number))
    assert memory.head_of(OURS) == seen(7)
    assert [file.name for file in tmp_path.iterdir()] == ["chain-head.json"]
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600


def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    memory.keep(seen(7))
    file = memory.path.stat().st_ino
    for head in (seen(7, at=NOON + 1), seen(6)):
        memory.keep(head)
    assert memory.path.stat().st_ino == file


def test_a_higher_epoch_begins_anew_and_a_lower_one_changes_nothing(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    memory.keep(seen(7))
    memory.keep(seen(4, epoch=1))
    memory.keep(seen(9))
    assert memory.head_of(OURS) == seen(4, epoch=1)


def test_each_database_that_a_directory_has_served_has_a_memory_of_its_own(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    memory.keep(seen(7))
    for number in range(15):
        memory.keep(seen(1, database=f"other {number}", at=NOON + number + 1))
    assert memory.head_of(OURS) == seen(7)
    memory.keep(seen(1, database="one more", at=NOON + 100))
    assert len(memory.heads()) == 16
    assert memory.head_of(OURS) is None  # It was not seen for longest.


def test_a_file_that_cannot_be_read_says_so_is_kept_aside_and_written_anew(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    memory.path.write_bytes(b'[{"database":"x"')
    with pytest.raises(ValueError, match="truncated"):
        memory.heads()
    memory.keep(seen(7))
    assert memory.head_of(OURS) == seen(7)
    assert memory.path_aside.read_bytes() == b'[{"database":"x"'


def test_one_who_stands_still_with_the_lock_keeps_nobody_waiting(tmp_path: Path) -> None:
    memory = ChainMemory(tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    memory.keep(seen(7))
    assert memory.head_of(OURS) is None
    os.close(folder)
    memory.keep(seen(7))
    assert memory.head_of(OURS) == seen(7)


@contextmanager
def process_that_remembers(folder: Path, step: int) -> Iterator[None]:
    """Again and again a head that is so much beyond what it finds, until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            memory = ChainMemory(folder)
            while True:
                found = memory.head_of(OURS)
                memory.keep(seen(step if found is None else found.number + step))
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_the_memory_of_two_processes_never_goes_back_also_when_they_are_killed(tmp_path: Path, rounds: int) -> None:
    memory, last = ChainMemory(tmp_path), 0
    for _ in range(rounds):
        # What the slow one has found is no longer there when it writes: the other has gone on.
        with process_that_remembers(tmp_path, 1), process_that_remembers(tmp_path, 50):
            begin = last
            while last < begin + 5_000:
                found = memory.head_of(OURS)
                number = 0 if found is None else found.number
                assert number >= last
                last = number
    memory.keep(seen(last + 5_000))
    assert memory.head_of(OURS) == seen(last + 5_000)


SET_BACK: Final = "the database was set back: "
CAUSES: Final = ": an older copy was put back, or a failover lost commits"
FINDINGS: Final = {
    "nothing remembered": (None, state(7), None),
    "the same": (seen(7), state(7, 7), None),
    "further": (seen(7), state(9, 7), None),
    "restored on purpose": (seen(7), state(4, epoch=1), None),
    "shorter": (
        seen(7),
        state(4),
        f"{SET_BACK}on 2027-01-15 12:00:00 UTC its chain had seal 7, and now it ends at seal 4{CAUSES}",
    ),
    "another": (
        seen(7, seal="ab" * 32),
        state(9, 7),
        f"{SET_BACK}on 2027-01-15 12:00:00 UTC its chain had another seal 7 than now{CAUSES}",
    ),
    "of before a restore": (
        seen(4, epoch=2),
        state(9, 4, epoch=1),
        f"{SET_BACK}on 2027-01-15 12:00:00 UTC it was of epoch 2, and now it is of epoch 1{CAUSES}",
    ),
}


def test_a_chain_that_does_not_go_on_from_what_was_seen_is_told_with_since_when(subtests: pytest.Subtests) -> None:
    for case, (remembered, found, words) in FINDINGS.items():
        with subtests.test(case):
            assert set_back(remembered, found) == words


def rows(number: int, epoch: int = 0, key: bytes = KEY) -> list[tuple[str, int, bytes]]:
    return [("identifier_key", 0, key), ("epoch", 0, b"%d" % epoch), ("head", number, hash_of(number))]


def test_a_start_judges_a_database_by_its_own_memory_alone() -> None:
    start = expected_of([seen(7), seen(99, database="another")])
    assert "IN (7, 99)" in start.query
    with pytest.raises(UnusableDatabase, match=r"seal 7, and now it ends at seal 4.* `qirsh restored --taken-at TIME`"):
        start.judge(rows(4))
    start.judge(rows(4, epoch=1))
    start.judge(rows(4, key=b"n" * 32))
    start.judge([*rows(9), ("seal", 7, hash_of(7))])
    start.judge([])  # A first start that was ended early.
    expected_of([]).judge(rows(4))


def test_there_is_nothing_to_remember_before_the_first_seal() -> None:
    assert head_in(state(0), NOON) is None
    found = read_state(rows(7, epoch=3))
    assert found is not None
    assert head_in(found, NOON) == seen(7, epoch=3)
