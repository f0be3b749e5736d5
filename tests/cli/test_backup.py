"""`qirsh backup`, `restore` and `migrate-store` as people type them: what they say, and that a no changes nothing."""

import gzip
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Final

import apsw
import pytest

from qirsh.backup.lines import Manifest
from qirsh.backup.progress import Progress
from qirsh.backup.take import check_backup
from qirsh.store.interface import CannotTell
from qirsh.store.postgres.verify import read_only
from qirsh.store.verify import verify
from tests.cli.program import AS_MODULE, QIRSH, Ended, House, Running
from tests.database import database_at
from tests.drill.shop import Shop, trading
from tests.forked import start
from tests.postgres import shared_server
from tests.waiting import wait_until

OTHER_SECRET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def other(tmp_path: Path, house: House) -> House:
    """Another installation, to which somebody has brought the secret key."""
    folder = tmp_path / "other"
    folder.mkdir(mode=0o700)
    shutil.copy(house.folder / "secret.key", folder)
    return House(folder)


@pytest.fixture
def backup(house: House, tmp_path: Path) -> Path:
    """Of the demo."""
    ended = house.invoke("backup", str(tmp_path / "one.jsonl.gz"))
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "one.jsonl.gz"


@pytest.fixture
def empty_url() -> Iterator[str]:
    """A database of PostgreSQL with nothing in it."""
    with shared_server().database() as url:
        yield url


def checked(file: Path) -> Manifest:
    return check_backup(file, Progress())


def test_a_backup_is_taken_while_the_server_runs_and_kept_to_a_number(
    served: tuple[House, Running], tmp_path: Path
) -> None:
    house, _ = served
    folder = tmp_path / "backups"
    folder.mkdir()
    for _ in range(3):
        ended = house.invoke("backup", str(folder), "--keep", "2")
        assert ended.returncode == 0, ended.stderr
    assert "Removed" in ended.stdout
    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    told = house.invoke("backup", "check", str(files[-1]))
    assert told.returncode == 0, told.stderr
    assert f"{checked(files[-1]).rows:,} in" in told.stdout
    assert "the last one is of" in house.invoke("doctor").stdout


def test_a_backup_beside_payments_has_what_was_paid_before_it(
    served: tuple[House, Running], other: House, tmp_path: Path
) -> None:
    house, running = served
    shutil.copy(house.folder / "secret.key", other.folder)
    file = str(tmp_path / "beside.jsonl.gz")
    with trading(Shop(running.url, house.demo())) as trade:
        trade.wait_for(3)
        before = paid(house)
        ended = house.invoke("backup", file)
        assert ended.returncode == 0, ended.stderr
        trade.wait_for(1)
    restored = other.invoke("restore", file)
    assert (restored.returncode, "every rule holds" in restored.stdout) == (0, True), restored.stderr
    assert before <= paid(other)


def paid(house: House) -> set[tuple[Any, ...]]:
    """The payments that are paid, by their numbers."""
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return set(connection.execute("SELECT number FROM payment WHERE status = 'paid'"))


def test_a_backup_goes_through_a_pipe(house: House, tmp_path: Path) -> None:
    kept = tmp_path / "piped"
    with kept.open("wb") as output:
        taken = piped(house, "backup", "-", stdout=output)
    assert (taken.returncode, "rows of" in taken.stderr) == (0, True)
    with kept.open("rb") as stream:
        check = piped(house, "backup", "check", "-", stdin=stream)
    assert (check.returncode, "is whole" in check.stdout) == (0, True), check.stderr
    restore = house.run("restore", "/dev/stdin")
    assert (restore.returncode, "is no file: a backup is read twice" in restore.stderr) == (2, True), restore.stderr
    assert gzip.decompress(kept.read_bytes()).splitlines()[-1].startswith(b'{"line":"manifest",')


def piped(
    house: House, *words: str, stdin: IO[bytes] | int = subprocess.PIPE, stdout: IO[bytes] | int = subprocess.PIPE
) -> Ended:
    """With bytes on one of these."""
    told = house.environment()
    with start([*QIRSH, *words], env=told, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE) as process:
        printed, complained = process.communicate()
        return Ended(process.wait(), printed, complained)


CUT: Final = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768))"
# As an interpreter does where PYTHONUNBUFFERED is set.
UNBUFFERED: Final = "import io, sys; sys.stdout = io.TextIOWrapper(open(1, 'wb', 0), write_through=True)"


def test_a_backup_that_is_cut_on_its_way_out_is_none_whatever_python_does_with_its_output(
    house: House, tmp_path: Path
) -> None:
    """A write that only a part of fits into is no error of its own."""
    for first in (CUT, f"{CUT}\n{UNBUFFERED}"):
        command = ["-c", f"{first}\n{AS_MODULE}", "backup", "-"]
        with (
            (tmp_path / "cut").open("wb") as output,
            start(command, env=house.environment(), stdout=output, stderr=subprocess.PIPE) as process,
        ):
            _, complained = process.communicate()
        assert (process.returncode, "File too large" in complained) == (2, True), complained


def test_where_a_backup_cannot_go_it_is_said_in_a_sentence(house: House, tmp_path: Path, backup: Path) -> None:
    for words, said in (
        ((str(tmp_path / "nowhere" / "file.gz"),), "there is no directory"),
        ((f"{tmp_path}/mistyped/",), f"there is no directory {tmp_path}/mistyped\n"),
        ((f"{tmp_path}/mistyped",), f"there is no directory {tmp_path}/mistyped\n"),
        ((f"{tmp_path}/mistyped.gz", "--keep", "2"), f"there is no directory {tmp_path}/mistyped.gz\n"),
        ((str(backup),), "is there already"),
        (("-", "--keep", "2"), "--keep needs a directory"),
        (("check", str(tmp_path / "nothing")), "cannot be read"),
        (("check", str(house.database)), "is not a backup"),
    ):
        ended = house.invoke("backup", *words)
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr
    assert sorted(tmp_path.glob("*.part*")) == []


def test_a_killed_backup_leaves_nothing_that_looks_like_one(house: House, tmp_path: Path) -> None:
    with house.started("backup", str(tmp_path), "--mib-per-s", "0.01") as process:
        while not (parts := list(tmp_path.glob("qirsh-*"))):
            assert process.poll() is None, process.communicate()
        process.kill()
    assert [file.suffix for file in parts] == [".part"]
    assert house.invoke("backup", str(tmp_path), "--keep", "1").returncode == 0
    assert len(list(tmp_path.glob("qirsh-*.jsonl.gz"))) == 1
    # It may still be at work; long after that it is not.
    assert parts[0].exists()
    os.utime(parts[0], (0, 0))
    ended = house.invoke("backup", str(tmp_path))
    assert f"Removed {parts[0]}" in ended.stdout
    assert len(list(tmp_path.glob("qirsh-*"))) == 2


def test_a_backup_that_is_told_to_stop_leaves_nothing(house: House, tmp_path: Path) -> None:
    with house.started("backup", str(tmp_path), "--mib-per-s", "0.01") as process:
        while not list(tmp_path.glob("qirsh-*")):
            assert process.poll() is None, process.communicate()
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    assert list(tmp_path.glob("qirsh-*")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: what root restores, since it takes root")
def test_root_restores_nothing_for_another_user(other: House, backup: Path) -> None:
    os.chown(other.folder, 65534, 65534)
    ended = other.invoke("restore", str(backup))
    assert (ended.returncode, "run this as that user" in ended.stderr) == (2, True), ended.stderr
    assert not other.database.exists()


def test_a_store_that_was_moved_to_sqlite_is_as_a_server_leaves_it(house: House) -> None:
    ended = house.invoke("migrate-store", "--to", f"sqlite:///{house.folder}/new.db")
    assert ended.returncode == 0, ended.stderr
    assert f"Set QIRSH_DATABASE_URL to sqlite:///{house.folder}/new.db before" in ended.stdout
    told = house.invoke("doctor", QIRSH_DATABASE_URL=f"sqlite:///{house.folder}/new.db").stdout
    assert "not wal" not in told


def test_a_store_is_moved_by_a_word_and_is_refused_in_a_sentence(house: House, empty_url: str) -> None:
    for to, said in (
        (f"sqlite:///{house.database}", "onto itself"),
        (str(house.database), "--to: must be sqlite:///path or postgresql://"),
        (f"sqlite:///{house.folder}/mistyped/qirsh.db", f"there is no directory {house.folder}/mistyped\n"),
    ):
        again = house.invoke("migrate-store", "--to", to)
        assert (again.returncode, said in again.stderr) == (2, True), again.stderr
    ended = house.invoke("migrate-store", "--to", empty_url)
    assert ended.returncode == 0, ended.stderr
    assert verify(empty_url, lambda _: None) == []
    refused = house.invoke("operator", "list", **house.operator())
    assert (refused.returncode, "this database was moved to postgresql://" in refused.stderr) == (2, True)
    again = house.invoke("migrate-store", "--to", empty_url)
    assert (again.returncode, "all of it arrived there: serve that one" in again.stderr) == (2, True)
    status = house.invoke("account", "approve", "1", QIRSH_DATABASE_URL=empty_url, **house.operator())
    assert "refused: invalid" in status.stderr


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_restored_installation_has_everything_and_its_money_stands_still(
    engine: str, house: House, other: House, backup: Path, empty_url: str
) -> None:
    place = {} if engine == "sqlite" else {"QIRSH_DATABASE_URL": empty_url}
    ended = other.invoke("restore", str(backup), **place)
    assert ended.returncode == 0, ended.stderr
    for told in ("every rule holds", "passwords", "Money stands still"):
        assert told in ended.stdout
    assert verify(other.database if engine == "sqlite" else empty_url, lambda _: None) == []
    proof = house.operator()
    assert other.invoke("operator", "list", **place, **proof).stdout == house.invoke("operator", "list", **proof).stdout
    words = ("deposit", "confirm", "--reference", "demo-waiting-USD")
    refused = other.invoke(*words, **place, **house.operator("operator2"))
    assert "money_stopped" in refused.stderr, refused.stderr
    again = other.invoke("restore", str(backup), **place)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_backup_of_rows_that_break_a_rule_is_named_by_all_and_restored(
    engine: str, house: House, other: House, tmp_path: Path, empty_url: str
) -> None:
    folder, place = tmp_path / "backups", {} if engine == "sqlite" else {"QIRSH_DATABASE_URL": empty_url}
    folder.mkdir()
    assert house.invoke("backup", str(folder), "--keep", "1").returncode == 0
    database_at(house.database).meddle("balance", "UPDATE balance SET amount = amount + 1 WHERE amount > 0")
    taken = house.invoke("backup", str(folder), "--keep", "1")
    assert (taken.returncode, "break a rule" in taken.stderr) == (3, True)
    _, file = sorted(folder.iterdir())  # The good one is still there.
    told = house.invoke("backup", "check", str(file))
    assert (told.returncode, "broken when it was taken" in told.stdout) == (3, True)
    [*_, doctors] = [line for line in house.invoke("doctor").stdout.splitlines() if "the last one is of" in line]
    assert "broke a rule" in doctors
    restored = other.invoke("restore", str(file), **place)
    assert (restored.returncode, "some break a rule" in restored.stdout) == (3, True)
    for said in (taken, told, restored):
        assert re.search(r"balance of account \d+ in \w+ is \d+, its transfers sum to \d+", said.stderr)
    assert other.invoke("verify", **place).returncode == 1
    words = ("deposit", "confirm", "--reference", "demo-waiting-USD")
    assert "money_stopped" in other.invoke(*words, **place, **house.operator("operator2")).stderr


def test_what_a_late_sealer_left_is_sealed_after_a_restore(house: House, other: House, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl.gz"
    database_at(house.database).meddle("seal", "DELETE FROM seal")
    taken = house.invoke("backup", str(file))
    assert (taken.returncode, "are not sealed, and are over a minute old" in taken.stderr) == (3, True)
    assert other.invoke("restore", str(file)).returncode == 3
    with other.serving("serve", until="listening", QIRSH_PORT="0", QIRSH_BASE_URL="http://127.0.0.1:0"):
        wait_until(lambda: other.invoke("verify").returncode == 0)


def test_what_is_in_the_way_is_moved_aside_with_its_log(house: House, backup: Path) -> None:
    log = house.database.with_name("qirsh.db-wal")
    log.write_bytes(b"what only the log holds")
    old = house.database.read_bytes()
    ended = house.invoke("restore", str(backup), "--aside")
    assert ended.returncode == 0, ended.stderr
    aside = house.database.with_name("qirsh.db.aside-1")
    assert aside.read_bytes() == old
    assert aside.with_name("qirsh.db.aside-1-wal").read_bytes() == b"what only the log holds"
    assert not log.exists()
    assert verify(house.database, lambda _: None) == []


def test_a_restore_that_is_refused_changes_nothing(
    served: tuple[House, Running], house: House, other: House, backup: Path, tmp_path: Path
) -> None:
    def refused(where: House, file: Path, *options: str, **variables: str) -> str:
        before = {one: one.read_bytes() for one in where.folder.glob("**/*") if one.is_file() and one.suffix != ".lock"}
        ended = where.invoke("restore", str(file), *options, **variables)
        assert ended.returncode == 2, ended.stdout
        assert len(ended.stderr.strip().splitlines()) == 1
        if where is not served[0]:
            after = {
                one: one.read_bytes() for one in where.folder.glob("**/*") if one.is_file() and one.suffix != ".lock"
            }
            assert after == before
        return ended.stderr

    half = tmp_path / "half.gz"
    half.write_bytes(backup.read_bytes()[:-40])
    assert f"{half}: " in (said := refused(other, half))
    assert "unfinished" in said
    assert "cannot be read" in refused(other, tmp_path / "nothing")
    assert "is not empty" in refused(house, backup)
    assert "has" in refused(served[0], backup, "--aside")
    assert "open" in refused(served[0], backup)
    assert "the secret key of this backup is not here" in refused(other, backup, QIRSH_SECRET_KEY=OTHER_SECRET)
    (other.folder / "secret.key").unlink()
    assert "put it into" in refused(other, backup)


def test_a_backup_that_is_restored_twice_begins_another_epoch(house: House, backup: Path) -> None:
    epochs = []
    for _ in range(2):
        ended = house.invoke("restore", str(backup), "--aside")
        assert ended.returncode == 0, ended.stderr
        epochs += re.findall(r"in epoch (\d+)", ended.stdout)
        assert house.invoke("verify").returncode == 0
        assert house.invoke("audit", "list", **house.operator()).returncode == 0  # It is opened, and remembered.
    assert epochs == ["1", "2"]


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_a_restore_that_is_killed_has_changed_nothing(engine: str, other: House, backup: Path, empty_url: str) -> None:
    place = {} if engine == "sqlite" else {"QIRSH_DATABASE_URL": empty_url}
    with other.started("restore", str(backup), umask=-1, first="", **place) as process:
        while not _is_under_way(other, engine, empty_url):
            assert process.poll() is None, process.communicate()
        process.kill()
    if engine == "sqlite":
        assert not other.database.exists()
    else:
        with pytest.raises(CannotTell, match="no tables of Qirsh"):
            verify(empty_url, lambda _: None)
    ended = other.invoke("restore", str(backup), **place)
    assert ended.returncode == 0, ended.stderr
    assert sorted(other.folder.glob("*.restoring*")) == []


def _is_under_way(house: House, engine: str, url: str) -> bool:
    if engine == "sqlite":
        return house.database.with_name("qirsh.db.restoring").exists()
    with read_only(url) as snapshot:
        return bool(snapshot.select("SELECT 1 FROM pg_stat_activity WHERE application_name = 'qirsh alone'"))
