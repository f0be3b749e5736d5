"""The file of a backup: what it says can be read without Qirsh, and a file that is not whole is never taken for one."""

import base64
import gzip
import hashlib
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import apsw
import pytest

from qirsh.backup.archive import BackupReader
from qirsh.backup.files import file_in, remove_older, whole_file
from qirsh.backup.layout import layout
from qirsh.backup.lines import FORMAT, UnusableBackup, moment
from qirsh.backup.new_file import new_sqlite_file
from qirsh.backup.progress import Progress
from qirsh.backup.restore import Installation, restore_backup
from qirsh.backup.take import check_backup
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.store import migrate
from tests.backup.conftest import NOW, Placed, back_up


def read(data: bytes) -> BackupReader:
    reader = BackupReader(io.BytesIO(data))
    for _, chunks in reader.tables():
        for _ in chunks:
            pass
    return reader


def test_a_backup_is_read_with_nothing_but_gunzip_and_json(backup_file: Path, filled_sqlite: Path) -> None:
    lines = gzip.decompress(backup_file.read_bytes()).splitlines(keepends=True)
    beginning, manifest = json.loads(lines[0]), json.loads(lines[-1])
    assert (beginning["line"], beginning["format"]) == ("backup", FORMAT)
    assert manifest["line"] == "manifest"
    tables: dict[str, list[list[Any]]] = {}
    heads: dict[str, Any] = {}
    digests: dict[str, Any] = {}
    name, digest = "", hashlib.sha256()
    for line in lines[1:-1]:
        if line.startswith(b"["):
            tables[name].append(json.loads(line))
            digest.update(line)
        elif (said := json.loads(line))["line"] == "table":
            name, digest = said["table"], hashlib.sha256()
            tables[name], heads[name] = [], said
        else:
            digests[name] = {"rows": len(tables[name]), "sha256": digest.hexdigest()}
            assert said == {"line": "end", "table": name, **digests[name]}
    assert digests == manifest["tables"]
    connection = apsw.Connection(str(filled_sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    for name, rows in tables.items():
        binary = {heads[name]["columns"].index(column) for column in heads[name]["base64"]}
        read_back = [
            tuple(base64.b64decode(v) if n in binary and v is not None else v for n, v in enumerate(row))
            for row in rows
        ]
        columns = ", ".join(heads[name]["columns"])
        stored = connection.execute(f"SELECT {columns} FROM {name}").fetchall()  # noqa: S608 - names of the schema
        assert sorted(read_back, key=repr) == sorted(stored, key=repr)
    connection.close()


def test_every_table_is_in_it_but_those_of_running_processes() -> None:
    newest = migrate.migrations("sqlite")[-1].number
    with apsw.Connection(":memory:") as connection:
        connection.execute(migrate.RECORD)
        for step in migrate.migrations("sqlite"):
            connection.execute(step.sql)
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert there - {table.name for table in layout(newest)} == {"lease", "schema_migration"}


def test_no_secret_key_is_in_it_but_its_fingerprint(backup_file: Path) -> None:
    manifest = check_backup(backup_file, Progress())
    assert manifest.secret_keys
    assert all(len(one) <= 8 for one in manifest.secret_keys)


def test_wherever_it_was_cut_off_it_is_no_backup(backup_file: Path) -> None:
    data = backup_file.read_bytes()
    assert read(data).manifest
    for end in {0, 1, 10, len(data) - 1, *random.Random(1).sample(range(len(data)), 60)}:
        with pytest.raises(UnusableBackup):
            read(data[:end])


def test_whichever_byte_is_damaged_it_is_no_backup_and_the_place_is_named(backup_file: Path) -> None:
    data = backup_file.read_bytes()
    plain = gzip.decompress(data)
    rng = random.Random(2)
    for place in rng.sample(range(10, len(data)), 60):
        with pytest.raises(UnusableBackup):
            read(data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :])
    # The same of what is packed, where no checksum of the packing helps.
    for place in rng.sample(range(len(plain)), 60):
        with pytest.raises(UnusableBackup):
            read(gzip.compress(plain[:place] + bytes([plain[place] ^ 1]) + plain[place + 1 :]))
    payment = plain.index(b'\n{"line":"table","table":"payment",')
    third = plain.index(b"[", plain.index(b"\n[", plain.index(b"\n[", payment) + 1) + 1)
    with pytest.raises(UnusableBackup, match="damaged in table payment, line 2"):
        read(gzip.compress(plain[:third] + b"[}" + plain[third + 2 :]))


def test_a_line_that_is_missing_or_twice_there_is_noticed(backup_file: Path) -> None:
    lines = gzip.decompress(backup_file.read_bytes()).splitlines(keepends=True)
    row = next(place for place, line in enumerate(lines) if line.startswith(b"["))
    for changed in (
        lines[:row] + lines[row + 1 :],
        lines[:row] + lines[row : row + 1] + lines[row:],
        [*lines, b"[]\n"],
    ):
        with pytest.raises(UnusableBackup):
            read(gzip.compress(b"".join(changed)))


def test_a_table_that_its_manifest_leaves_out_too_is_missed(backup_file: Path) -> None:
    """A program that takes a table out of a backup can also take it out of the manifest."""
    lines = gzip.decompress(backup_file.read_bytes()).splitlines(keepends=True)
    begin = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"table","table":"refund",'))
    end = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"end","table":"refund",'))
    manifest = json.loads(lines[-1])
    assert manifest["tables"].pop("refund")["rows"]
    without = [*lines[:begin], *lines[end + 1 : -1], json.dumps(manifest).encode() + b"\n"]
    with pytest.raises(UnusableBackup, match="does not hold the tables"):
        read(gzip.compress(b"".join(without)))


def test_a_backup_whose_rows_are_not_those_of_its_sums_and_head_is_not_restored(
    backup_file: Path, tmp_path: Path, empty: Placed
) -> None:
    *lines, last = gzip.decompress(backup_file.read_bytes()).splitlines(keepends=True)
    manifest, file, place = json.loads(last), tmp_path / "other.jsonl.gz", empty("sqlite")
    assert isinstance(place, Path)
    own = Installation(system_clock, system_entropy, "os user tester", after_epoch=0)
    usd = manifest["sums"]["USD"]
    for part, other in (
        ("sums", {**manifest["sums"], "USD": {**usd, "moved": usd["moved"] + 1}}),
        ("head", {**manifest["head"], "hash": "00" * 32}),
        ("head", None),
    ):
        told = json.dumps({**manifest, part: other}).encode() + b"\n"
        file.write_bytes(gzip.compress(b"".join([*lines, told])))
        with pytest.raises(UnusableBackup, match="are not those of its rows"):
            restore_backup(file, check_backup(file, Progress()), place, own, Progress())
        assert not place.exists()


def test_other_files_and_those_of_a_newer_qirsh_are_refused_in_words(backup_file: Path) -> None:
    plain = gzip.decompress(backup_file.read_bytes())
    with pytest.raises(UnusableBackup, match=r"format 2 and was made by Qirsh .*: run the newer Qirsh"):
        read(gzip.compress(plain.replace(b'"format":1', b'"format":2', 1)))
    schema = migrate.migrations("sqlite")[-1].number
    with pytest.raises(UnusableBackup, match="schema 9999"):
        read(gzip.compress(plain.replace(b'"schema":%d' % schema, b'"schema":9999', 1)))
    for other in (b"", b"a letter", gzip.compress(b"a letter"), gzip.compress(b"{}\n"), gzip.compress(b"[1]\n[2]\n")):
        with pytest.raises(UnusableBackup, match="not a backup"):
            read(other)


def test_both_engines_write_the_same_file_of_the_same_rows(filled_copy: Placed, tmp_path: Path) -> None:
    """But for what they tell of themselves."""
    there = back_up(filled_copy("postgresql"), tmp_path / "one")
    assert there.engine == "PostgreSQL"
    assert read((tmp_path / "one").read_bytes()).manifest == there


def test_a_file_is_there_when_it_is_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with pytest.raises(KeyboardInterrupt), whole_file(file) as output:  # noqa: PT012 - it is ended in the middle
        output.write(b"half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with whole_file(file) as output:
        output.write(b"whole")
        assert not file.exists()
    assert [file.read_bytes(), file.stat().st_mode & 0o777] == [b"whole", 0o600]


def test_a_file_gets_its_name_when_its_bytes_are_on_the_disk_and_the_name_is_synced_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(file: Path) -> None:
        with whole_file(file) as output:
            output.write(b"whole")

    def restored(file: Path) -> None:
        with new_sqlite_file(file) as (fresh, _):
            fresh.write_bytes(b"whole")

    fsync = os.fsync
    for number, make in enumerate((made, restored)):
        file = tmp_path / str(number) / "file"
        synced: list[tuple[Path, bytes, bool]] = []
        file.parent.mkdir()

        def noted(descriptor: int, file: Path = file, synced: list[tuple[Path, bytes, bool]] = synced) -> None:
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            synced.append((path, path.read_bytes() if path.is_file() else b"", file.exists()))
            fsync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", noted)
            make(file)
        (part, content, was_there), (folder, _, is_there) = synced
        assert part.name.startswith("file.")
        assert (content, was_there) == (b"whole", False)
        assert (folder, is_there) == (file.parent, True)


def test_one_that_is_ended_while_its_file_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def open_and_end(path: str, flags: int, mode: int = 0o777) -> int:
        opened = os_open(path, flags, mode)
        made.append(path)
        os.close(opened)
        raise KeyboardInterrupt  # As a signal has it that arrives now.

    os_open = os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_and_end)
        with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "backup"):
            pass
    assert len(made) == 1
    assert not list(tmp_path.iterdir())


def test_older_ones_are_removed_and_never_the_last(tmp_path: Path) -> None:
    files = []
    for hour in range(4):
        files.append(file_in(tmp_path, moment(NOW + hour * 3_600_000)))
        files[-1].touch()
    others = [tmp_path / "qirsh.db", tmp_path / f"{files[0].name}.x.part", tmp_path / "notes.jsonl.gz"]
    for other in others:
        other.touch()
    assert remove_older(tmp_path, 3) == files[:1]
    assert remove_older(tmp_path, 1) == files[1:3]
    assert remove_older(tmp_path, 1) == []
    assert sorted(tmp_path.iterdir()) == sorted([files[3], *others])


def test_their_names_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    names = [file_in(tmp_path, moment(NOW + ms)).name for ms in (0, 1, 10, 999, 1000, 86_400_000)]
    assert names == sorted(set(names))


def test_the_old_database_keeps_its_name_until_the_new_one_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start in between would else find an empty place, and begin anew there."""
    path = tmp_path / "qirsh.db"
    path.write_bytes(b"old")
    rename = Path.rename

    def end(file: Path, to: Path) -> Path:
        if file.suffix == ".restoring":
            raise KeyboardInterrupt
        return rename(file, to)

    monkeypatch.setattr(Path, "rename", end)
    with pytest.raises(KeyboardInterrupt), new_sqlite_file(path, aside=True) as (fresh, moved):
        fresh.write_bytes(b"new")
    assert path.read_bytes() == b"old"
    assert [aside.read_bytes() for aside in moved] == [b"old"]
    monkeypatch.undo()
    with new_sqlite_file(path, aside=True) as (fresh, moved):
        fresh.write_bytes(b"new")
    assert (path.read_bytes(), [aside.read_bytes() for aside in moved]) == (b"new", [b"old"])
