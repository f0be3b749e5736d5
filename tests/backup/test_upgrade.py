"""A backup of each released version is restored by this one, on both engines, and everything in it is right."""

from pathlib import Path

import pytest

from qirsh import __version__
from qirsh.backup.layout import layout
from qirsh.backup.progress import Progress
from qirsh.backup.restore import Installation, restore_backup
from qirsh.backup.take import check_backup, source_of
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.store import migrate
from qirsh.store.verify import verify
from tests.backup.conftest import Placed
from tests.backup.keep import KEPT

FILES = sorted(KEPT.glob("*.jsonl.gz"))
# What a restore adds to, or takes away.
CHANGED = {"audit", "challenge", "constant", "counter", "credential_log", "mail", "operator_session", "restore"} | {
    *("session", "stop", "webhook_delivery", "webhook_queue", "pending_reset")
}


def test_there_is_one_of_this_version() -> None:
    assert __version__ in [file.name.removesuffix(".jsonl.gz") for file in FILES]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_is_restored_and_migrated_onwards(file: Path, engine: str, empty: Placed) -> None:
    manifest, place = check_backup(file, Progress()), empty(engine)
    own = Installation(system_clock, system_entropy, "os user tester", after_epoch=0)
    restored = restore_backup(file, manifest, place, own, Progress())
    assert restored.record.epoch == manifest.epoch + 1
    assert verify(place, lambda _: None) == []
    with source_of(place) as source:
        assert source.schema == migrate.migrations("sqlite")[-1].number
        rows = {
            table.name: source.select(f"SELECT count(*) FROM {table.name}")[0][0]  # noqa: S608 - names of the schema
            for table in layout(source.schema)
        }
    assert {name: count for name, count in rows.items() if name in manifest.tables and name not in CHANGED} == {
        name: digest.rows for name, digest in manifest.tables.items() if name not in CHANGED
    }
