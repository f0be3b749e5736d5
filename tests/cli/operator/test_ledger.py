"""The ledger, the audit log and the system from the command line, of a service that runs and of one that rests."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.program import House, Running
from tests.waiting import wait_until


@pytest.fixture
def desk(served: tuple[House, Running]) -> tuple[House, dict[str, str]]:
    house, _ = served
    return house, house.operator()


def test_the_ledger_is_shown_in_plain_words_and_as_json(desk: tuple[House, dict[str, str]]) -> None:
    house, operator = desk
    wait_until(lambda: bool(house.act("ledger", "show", **operator)["money"]))
    done = house.act("ledger", "show", **operator)
    assert {row["total"] for row in done["money"]} == {"0.00"}
    assert {check["state"] for check in done["checks"]} <= {"holds", "begun", "not asked yet"}
    shown = house.invoke("ledger", "show", **operator)
    assert shown.returncode == 0
    for words in (
        "Money, as of ",
        "Test money, which is apart:",
        "per currency, debits equal credits",
        "never stopped",
    ):
        assert words in shown.stdout


def test_the_system_is_shown_without_secrets(desk: tuple[House, dict[str, str]]) -> None:
    house, operator = desk
    wait_until(lambda: house.act("system", "show", **operator)["doctor"] is not None)
    done = house.act("system", "show", **operator)
    assert done["lastBackup"] == "none recorded"
    assert done["settings"]["QIRSH_DATA_DIR"] == str(house.folder)
    assert {row["name"] for row in done["workers"]} >= {"sealer", "mail", "notifier", "totaler", "webhook deliveries"}
    assert {finding["name"] for finding in done["doctor"]} >= {"SQLite", "Data directory", "Money"}
    shown = house.invoke("system", "show", **operator).stdout
    for words in ("schema ", "SQLite 3.", "GiB free", "every role", "QIRSH_SECRET_KEY", "Doctor:"):
        assert words in shown
    assert (house.folder / "secret.key").read_text().strip() not in shown


def test_the_audit_log_is_listed_by_what_was_asked_for(desk: tuple[House, dict[str, str]]) -> None:
    house, operator = desk
    account = house.demo()["merchant"]["account"]
    shown = house.invoke("audit", "list", "--act", "account.", "--subject", account, **operator)
    assert "account.verified" in shown.stdout
    assert house.invoke("audit", "list", "--act", "no.such", **operator).stdout == "None.\n"
    wrong = house.invoke("audit", "list", "--from", "nonsense", **operator)
    assert (wrong.returncode, wrong.stderr) == (1, "refused: invalid: from: must be a day such as 2026-11-17\n")


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))


def test_an_export_goes_to_standard_output_or_to_a_new_file_that_only_its_user_reads(
    desk: tuple[House, dict[str, str]], tmp_path: Path
) -> None:
    house, operator = desk
    printed = house.run("audit", "export", "--act", "account.", **operator)
    assert printed.returncode == 0, printed.stderr
    head, *rows = rows_of(printed.stdout)
    assert head[0] == "entry"
    assert rows
    assert {row[3].partition(".")[0] for row in rows} == {"account"}
    target = tmp_path / "log.csv"
    done = house.run("audit", "export", "--output", str(target), **operator)
    assert done.stdout == f"Exported to {target}: all entries\n"
    assert target.stat().st_mode & 0o077 == 0
    everything = rows_of(target.read_text())
    assert everything[1][3] == "audit.exported"  # This one. Below it the first.
    assert len(everything) > len(rows)
    again = house.run("audit", "export", "--output", str(target), **operator)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == [target]


def test_a_refused_export_leaves_no_file(desk: tuple[House, dict[str, str]], tmp_path: Path) -> None:
    house, operator = desk
    target = tmp_path / "log.csv"
    done = house.run("audit", "export", "--from", "nonsense", "--output", str(target), **operator)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])


def test_all_of_it_works_while_no_server_runs(house: House) -> None:
    operator = house.operator()
    assert house.invoke("ledger", "show", **operator).returncode == 0
    assert "SQLite 3." in house.invoke("system", "show", **operator).stdout
    printed = house.run("audit", "export", **operator)
    assert rows_of(printed.stdout)[1][3] == "audit.exported"
    answer = json.loads(house.invoke("audit", "list", "--json", **operator).stdout)["done"]
    assert answer["items"][0]["action"] == "audit.exported"
