"""A backup of rows that break rules names them, and is restored as they were, with money stopped."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pytest

from qirsh.backup.progress import Progress
from qirsh.backup.restore import Installation, restore_backup
from qirsh.backup.take import check_backup, source_of, take_backup
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.store.integrity.invariant import Invariant
from qirsh.store.integrity.invariants import ALL
from qirsh.store.sqlite.verify import GUARDS
from tests.backup.conftest import Place, Placed, back_up
from tests.postgres import shared_server
from tests.store.filled import Denied, PostgresHand, SqliteHand
from tests.store.integrity.test_invariants import BROKEN

OWN: Final = Installation(system_clock, system_entropy, "os user tester", after_epoch=0)
BREAKS: Final = {name: sql for name, sql, _ in reversed(BROKEN)}
# A restore moves counters past all numbers in use, begins webhooks with the next event, and makes guards again.
MENDED: Final = {
    "a number in use was handed out",
    "a delivery is of an event of its endpoint's account",
    "a webhook queue stands within its log",
    GUARDS.name,
    # Only SQLite counts its transfers without a gap.
    "no transfer vanished",
}
WAYS: Final = [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "postgresql"), ("postgresql", "sqlite")]


def hand_at(place: Place) -> SqliteHand | PostgresHand:
    return SqliteHand(place) if isinstance(place, Path) else PostgresHand(place, is_kept=True)


def broken_names(place: Place) -> set[str]:
    with source_of(place) as source:
        return {violation.name for violation in source.violations(Progress())}


def restored(file: Path, place: Place) -> set[str]:
    """The rules that are said to be broken, and are; money stands still."""
    told = restore_backup(file, check_backup(file, Progress()), place, OWN, Progress())
    names = {violation.name for violation in told.violations}
    assert names == broken_names(place)
    with source_of(place) as source:
        assert source.select("SELECT count(*) FROM stop WHERE lifted_at IS NULL") == [(1,)]
    return names


@pytest.mark.parametrize(("old", "new"), WAYS)
def test_all_rules_may_be_broken_in_what_is_restored(
    old: str, new: str, filled_copy: Placed, empty: Placed, tmp_path: Path
) -> None:
    place = filled_copy(old)
    with closing(hand_at(place)) as hand:
        hand.disarm()
        for sql in BREAKS.values():
            with suppress(Denied):  # Another has taken the row away.
                hand.type(sql)
    before = broken_names(place)
    assert len(before & BREAKS.keys()) > len(ALL) * 3 / 4  # Some rows break one or the other.
    manifest = back_up(place, tmp_path / "backup")
    assert manifest.violations
    assert before - restored(tmp_path / "backup", empty(new)) <= MENDED


@pytest.mark.slow
@pytest.mark.parametrize("new", ["sqlite", "postgresql"])
@pytest.mark.parametrize("rule", BREAKS)
def test_each_rule_may_be_broken_in_what_is_restored(
    rule: str, new: str, filled_copy: Placed, empty: Placed, tmp_path: Path
) -> None:
    place = filled_copy("sqlite")
    with closing(hand_at(place)) as hand:
        hand.disarm()
        hand.type(BREAKS[rule])
    manifest = back_up(place, tmp_path / "backup")
    assert any(manifest.first_violations)
    assert rule in restored(tmp_path / "backup", empty(new)) | MENDED


def test_a_database_that_goes_away_while_its_rules_are_checked_was_copied_all_the_same(
    filled_copy: Placed, empty: Placed, tmp_path: Path
) -> None:
    """As a standby does to a look that takes too long."""
    end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'qirsh verify'"
    file, place = tmp_path / "backup", filled_copy("postgresql")
    name = str(place).rpartition("/")[2]

    class Ending(Progress):
        def check(self, _invariant: Invariant) -> None:
            shared_server().sql(f"{end_all} AND datname = '{name}'")

    with source_of(place) as source, file.open("wb") as output:
        manifest = take_backup(source, output, system_clock, Ending())
    assert manifest.violations is None
    assert restored(file, empty("sqlite")) == set()
