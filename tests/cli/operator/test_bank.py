"""Statements of the bank from the command line of a service that runs."""

import json
from pathlib import Path

import pytest

from qirsh.domain.limits import BANK_FILE_BYTES_MAX
from tests.cli.program import House, Running

FORMAT = (
    *("--encoding", "windows-1254", "--separator", ";", "--decimal", ",", "--date", "DD.MM.YYYY"),
    *("--day-column", "Tarih", "--amount-column", "Tutar", "--reference-column", "Fiş", "--text-column", "Not"),
    *("--currency", "TRY", "--time-zone", "Europe/Istanbul"),
)
HEADER = "Tarih;Fiş;Not;Tutar"


@pytest.fixture
def house(served: tuple[House, Running]) -> House:
    return served[0]


def written(folder: Path, *lines: str) -> str:
    path = folder / "kasım.csv"
    path.write_bytes("\r\n".join((HEADER, *lines)).encode("cp1254"))
    return str(path)


def test_a_file_is_looked_at_imported_reconciled_and_undone(house: House, tmp_path: Path) -> None:
    first = house.operator()
    file = written(tmp_path, "17.11.2026;fiş 1;Şubeden;1.234,50", "17.11.2026;;ücret;-4,50")
    assert "files are read so from now on" in house.invoke("bank", "format", *FORMAT, **first).stdout

    seen = house.invoke("bank", "import", file, **first)
    assert (seen.returncode, seen.stderr) == (0, "")
    for words in ("2 lines from 2026-11-17 to 2026-11-17: 2 new", "in 1234.50, out -4.50", "Şubeden", "--yes does"):
        assert words in seen.stdout
    assert house.invoke("bank", "list", **first).stdout == "None.\n"

    done = house.invoke("bank", "import", file, "--yes", "--closing", "1230.00", "TRY", **first)
    assert "Imported." in done.stdout, done.stderr
    [statement] = house.act("bank", "list", **first)["items"]
    assert (statement["state"], statement["lines"], statement["closing"]) == ("imported", 2, "1230.00 TRY")
    assert "imported  2026-11-17 to 2026-11-17  2 lines  kasım.csv" in house.invoke("bank", "list", **first).stdout
    lines = house.act("bank", "list", "--what", "lines", **first)["items"]
    assert {line["amount"] for line in lines} == {"1234.50", "-4.50"}
    shown = house.invoke("bank", "list", "--what", "lines", **first).stdout
    assert all(line["line"] in shown for line in lines)

    told = house.invoke("bank", "reconcile", **first)
    assert "unexplained" in told.stdout, told.stderr
    assert told.returncode in {0, 1}
    again = house.invoke("bank", "import", file, "--yes", **first)
    assert again.stderr.startswith("refused: already_decided: This very file was imported by operator")
    assert "Undone." in house.invoke("bank", "undo", statement["id"], **first).stdout
    assert house.invoke("bank", "list", "--what", "lines", **first).stdout == "None.\n"


def test_lines_are_matched_and_unmatched_by_hand(house: House, tmp_path: Path) -> None:
    first = house.operator()
    account = house.demo()["customer"]["account"]
    words = ("deposit", "ask", account, "1234.50", "TRY", "--reference", "fiş 9")
    house.act(*words, **first)
    house.act("deposit", "confirm", "--reference", "fiş 9", **house.operator("operator2"))
    house.act("bank", "format", *FORMAT, **first)
    file = written(tmp_path, "17.11.2026;;Şubeden;1.234,50")
    house.act("bank", "import", file, "--yes", **first)
    [line] = house.act("bank", "list", "--what", "lines", **first)["items"]
    assert "Matched. No money moves." in house.invoke("bank", "match", **first).stdout
    assert house.invoke("bank", "match", "--line", line["line"], **first).returncode == 2
    matched = house.invoke("bank", "match", "--line", line["line"], "--reference", "fiş 9", **first)
    assert "fiş 9" in matched.stdout, matched.stderr
    assert "Taken back." in house.invoke("bank", "unmatch", line["line"], **first).stdout
    orders = house.invoke("bank", "list", "--what", "orders", **first).stdout
    assert "fiş 9" in orders


def test_lines_that_are_not_understood_are_named_and_the_exit_code_tells(house: House, tmp_path: Path) -> None:
    first = house.operator()
    house.act("bank", "format", *FORMAT, **first)
    file = written(tmp_path, "17.11.2026;fiş 1;Şubeden;1.234,50", "17.11.2026;fiş 2;Şub")
    seen = house.invoke("bank", "import", file, **first)
    assert (seen.returncode, "line 3: has another number of cells" in seen.stdout) == (1, True)
    refused = house.invoke("bank", "import", file, "--yes", "--json", **first)
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "invalid")
    large = tmp_path / "large.csv"
    large.write_bytes(b"x" * (BANK_FILE_BYTES_MAX + 1))
    assert house.invoke("bank", "import", str(large), **first).returncode == 2
    assert house.invoke("bank", "import", str(tmp_path / "none.csv"), **first).returncode == 2


def test_a_file_as_large_as_may_be_arrives(house: House, tmp_path: Path) -> None:
    first = house.operator()
    house.act("bank", "format", *FORMAT, **first)
    line = "17.11.2026;fiş;" + "x" * 1800 + ";1,00"
    file = written(tmp_path, *[line] * ((BANK_FILE_BYTES_MAX - 100) // (len(line) + 2)))
    seen = house.act("bank", "import", file, **first)
    assert (seen["state"], seen["lines"] > 3000) == ("preview", True)
