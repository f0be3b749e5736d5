"""An older SQLite file is put back between a stop and a start, or in the place of a running server's file."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.program import House, Running
from tests.waiting import wait_until


def remembered(house: House) -> dict[str, Any]:
    [head] = json.loads((house.folder / "chain-head.json").read_bytes())
    return dict(head)


def shop(house: House) -> str:
    connection = apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)
    number = connection.execute(
        "SELECT min(number) FROM account WHERE kind = 'commercial' AND state IN ('approved', 'suspended')"
    ).get
    connection.close()
    return str(number)


def change(house: House, what: str) -> None:
    """Something that is sealed."""
    house.act("account", what, shop(house), "--reason", "a test", **house.operator())


def files(house: House) -> list[Path]:
    """The database, and its log where there is one."""
    return [file for file in (house.database, house.folder / "qirsh.db-wal") if file.exists()]


def copied(house: House, to: Path) -> None:
    to.mkdir()
    for file in files(house):
        if file.stat().st_size:  # Who looks at a database at rest leaves an empty log.
            shutil.copy(file, to / file.name)


def copied_while_it_runs(house: House, running: Running, to: Path) -> None:
    running.process.send_signal(signal.SIGSTOP)
    copied(house, to)
    running.process.send_signal(signal.SIGCONT)
    assert (to / "qirsh.db-wal").stat().st_size > 0


def put_back(house: House, copy: Path) -> dict[str, bytes]:
    """What the files then hold."""
    for file in files(house):
        file.unlink()
    for file in copy.iterdir():
        shutil.copy(file, house.folder / file.name)
    return {file.name: file.read_bytes() for file in files(house)}


@pytest.mark.parametrize("is_with_log", [True, False], ids=["with its log", "without a log"])
def test_an_older_file_that_is_put_back_is_refused_in_words_and_left_as_it_is(
    house: House, tmp_path: Path, *, is_with_log: bool
) -> None:
    older = tmp_path / "older"
    if not is_with_log:
        copied(house, older)
    with house.serving("serve", until="listening") as running:
        if is_with_log:
            change(house, "suspend")
            copied_while_it_runs(house, running, older)
        change(house, "resume" if is_with_log else "suspend")
        assert running.stop() == 0
    assert [file.name for file in older.iterdir() if file.name.endswith("-wal")] == ["qirsh.db-wal"] * is_with_log
    head = remembered(house)
    kept = put_back(house, older)

    refused = house.run("serve")
    assert refused.returncode == 2
    assert f"its chain had seal {head['number']}, and now it ends at seal" in refused.stderr
    assert "an older copy was put back, or a failover lost commits" in refused.stderr
    assert "`qirsh restored --taken-at TIME`" in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith("qirsh: the database was set back: on 20")
    # Neither an act that would open the database itself, nor a migration; and the doctor tells.
    for words in (("account", "list"), ("migrate",)):
        alone = house.invoke(*words, **house.operator())
        assert (alone.returncode, "the database was set back" in alone.stderr) == (2, True)
    assert {file.name: file.read_bytes() for file in files(house)} == kept
    assert "bad   Chain memory" in house.invoke("doctor").stdout
    assert remembered(house) == head


def test_an_older_file_whose_epoch_was_raised_is_served_and_remembered_anew(house: House, tmp_path: Path) -> None:
    copied(house, tmp_path / "older")
    change(house, "suspend")
    change(house, "resume")
    head = remembered(house)
    put_back(house, tmp_path / "older")
    connection = apsw.Connection(str(house.database))
    connection.execute("UPDATE constant SET value = CAST('1' AS BLOB) WHERE name = 'epoch'")
    connection.close()
    assert "note  Chain memory" in house.invoke("doctor").stdout
    with house.serving("serve", until="listening") as running:
        wait_until(lambda: remembered(house)["epoch"] == 1)
        assert remembered(house)["number"] < head["number"]
        assert running.stop() == 0
    assert "ok    Chain memory" in house.invoke("doctor").stdout


def test_the_right_file_put_back_is_served_again(house: House, tmp_path: Path) -> None:
    copied(house, tmp_path / "older")
    change(house, "suspend")
    copied(house, tmp_path / "right")
    put_back(house, tmp_path / "older")
    assert house.run("serve").returncode == 2
    put_back(house, tmp_path / "right")
    with house.serving("serve", until="listening") as running:
        assert running.get("/readyz")["status"] == "ready"
        assert running.stop() == 0


def test_an_act_without_a_server_is_remembered_when_it_ends(house: House) -> None:
    change(house, "suspend")
    before = remembered(house)["number"]
    change(house, "resume")
    assert remembered(house)["number"] == before + 1


def test_a_memory_that_is_damaged_is_told_and_keeps_nobody_from_serving(house: House) -> None:
    (house.folder / "chain-head.json").write_bytes(b"[{")
    assert "bad   Chain memory" in house.invoke("doctor").stdout
    with house.serving("serve", until="listening") as running:
        wait_until(lambda: "ok    Chain memory" in house.invoke("doctor").stdout)
        assert running.stop() == 0
        assert running.process.stderr is not None
        assert "chain-head.json cannot be read" in running.process.stderr.read()


def test_an_older_file_in_the_place_of_a_running_servers_is_noticed_without_a_commit(
    house: House, tmp_path: Path
) -> None:
    change(house, "suspend")
    copied(house, tmp_path / "older")
    with house.serving("serve", until="listening") as running:
        before = remembered(house)["number"]
        change(house, "resume")
        wait_until(lambda: remembered(house)["number"] > before)
        (tmp_path / "older" / "qirsh.db").replace(house.database)
        assert running.process.wait() == 70
        assert running.process.stderr is not None
        said = running.process.stderr.read()
        [critical] = [line for line in said.splitlines() if "CRITICAL" in line and "deleted or replaced" in line]
        assert f"{house.database} was deleted or replaced while the service ran" in critical
    refused = house.run("serve")
    assert refused.returncode == 2
    assert "was deleted or replaced while the service ran" in refused.stderr
