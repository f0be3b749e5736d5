"""`qirsh status` and `qirsh verify`: what they say, and that they change nothing."""

import json
import shlex
import subprocess
import sys
from contextlib import closing

import apsw
import pytest

from qirsh.settings import CLIENT_VARIABLES
from tests.cli.program import House, Running


def spoil(house: House, sql: str) -> None:
    with closing(apsw.Connection(str(house.database))) as connection:
        connection.execute(sql)


def test_status_tells_of_a_running_server_and_of_none(served: tuple[House, Running], empty: House) -> None:
    house, running = served
    ended = house.run("status")
    shown = ended.stdout
    assert ended.returncode == 0
    for words in (f"running as process {running.process.pid}, ready", running.url, str(house.folder), "Operators  3"):
        assert words in shown
    ended = empty.run("status")
    shown = ended.stdout
    assert ended.returncode == 1
    assert "not running" in shown
    assert "does not exist yet" in shown
    assert not empty.folder.exists()


def test_status_env_is_understood_by_a_shell_and_holds_what_others_rely_on(served: tuple[House, Running]) -> None:
    house, running = served
    lines = house.run("status", "--env").stdout
    show = f"{shlex.quote(sys.executable)} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    shell = subprocess.run(
        ["sh", "-eu"], input=f"set -a\n{lines}\n{show}\n", capture_output=True, text=True, check=True, env={}
    )
    seen = {name: value for name, value in json.loads(shell.stdout).items() if name.startswith("QIRSH_")}
    assert seen.keys() == CLIENT_VARIABLES | {"QIRSH_BASE_URL"}
    demo = house.demo()
    assert seen["QIRSH_BASE_URL"] == running.url
    assert seen["QIRSH_API_KEY"] == demo["apiKey"]
    assert seen["QIRSH_CUSTOMER2_PIN"] == demo["customer2"]["pin"]
    assert seen["QIRSH_OPERATOR_TOTP_SECRET"] == demo["operator"]["totpSecret"]
    # What it prints can be in the environment of every command: an operator then acts without a question.
    assert house.invoke("account", "verify", "1", **seen).stderr.startswith("refused: invalid")


def test_status_env_quotes_whatever_a_value_holds(house: House) -> None:
    nasty = "a b'c\"d$(touch /tmp/never)`e`\\"
    (house.folder / "demo.json").write_text(json.dumps(house.demo() | {"apiKey": nasty}))
    lines = house.invoke("status", "--env").stdout
    shell = subprocess.run(
        ["sh", "-eu"], input=f'{lines}\nprintf %s "$QIRSH_API_KEY"\n', capture_output=True, text=True, check=True
    )
    assert shell.stdout == nasty


def test_status_env_without_a_demo_tells_the_address_only(empty: House) -> None:
    ended = empty.invoke("status", "--env", QIRSH_BASE_URL="https://pay.example")
    assert ended.stdout == "QIRSH_BASE_URL=https://pay.example\n"


def test_verify_finds_a_demo_good_while_it_is_served(served: tuple[House, Running]) -> None:
    house, _ = served
    ended = house.run("verify")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "rules hold of" in ended.stdout
    verdict = json.loads(house.invoke("verify", "--json").stdout)
    assert (verdict["verdict"], verdict["violations"]) == ("good", [])
    assert verdict["checked"] > 20


def test_verify_changes_nothing_of_a_database_at_rest(house: House) -> None:
    before = house.database.read_bytes()
    assert house.run("verify").returncode == 0
    assert house.database.read_bytes() == before
    # A log that a reader may leave behind is empty.
    assert {path.stat().st_size for path in house.folder.glob("qirsh.db-wal")} <= {0}


def test_verify_names_the_rows_that_break_a_rule(house: House) -> None:
    account = house.demo()["customer"]["account"]
    spoil(house, "DROP TRIGGER balance_follows; UPDATE balance SET amount = amount + 1 WHERE amount > 1000000")
    ended = house.run("verify")
    assert ended.returncode == 1
    assert f"balance of account {account} in USD is " in ended.stdout
    assert "trigger balance_follows is missing" in ended.stdout
    assert "break a rule" in ended.stderr
    verdict = json.loads(house.invoke("verify", "--json").stdout)
    assert verdict["verdict"] == "bad"
    assert any(account in violation["sentence"] for violation in verdict["violations"])


@pytest.mark.parametrize("state", ["no file", "no database", "half-migrated", "newer", "not readable"])
def test_verify_says_when_it_cannot_tell(state: str, house: House) -> None:
    if state == "no file":
        house.database.unlink()
    elif state == "no database":
        house.database.write_bytes(b"something else entirely, and more of it" * 30)
    elif state == "half-migrated":
        spoil(house, "DELETE FROM schema_migration")
    elif state == "newer":
        spoil(house, "INSERT INTO schema_migration VALUES (999, 'later', 'x', 0)")
    else:
        house.database.unlink()
        house.database.mkdir()
    ended = house.invoke("verify", "--json")
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["verdict"] == "unknown"
    assert ended.stderr.startswith("qirsh: cannot tell: ")
    assert "Traceback" not in ended.stderr
