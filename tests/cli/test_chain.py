"""The chain of seals as an operator meets it: its head in the log, and `qirsh verify --head` beside the log."""

import json
import re

import apsw
import pytest

from tests.chain import check
from tests.cli.program import House

HEAD = re.compile(r"INFO qirsh\.workers\.sealer head of the chain of seals: (\d+:[0-9a-f]{64})$", re.MULTILINE)


def covers_all(house: House) -> bool:
    connection = apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("BEGIN")
        covered = check(lambda sql: connection.execute(sql).fetchall())
        stored = {table: connection.execute(f"SELECT id FROM {table} ORDER BY id").fetchall() for table in covered}  # noqa: S608 - ours
        return all([(row,) for row in covered[table]] == stored[table] for table in covered)
    finally:
        connection.close()


def served_and_stopped(house: House) -> str:
    """The log of a server that was used and has ended."""
    with house.serving("serve", until="listening") as running:
        house.act("account", "suspend", _shop(house), **house.operator())
        code = running.stop()
        assert running.process.stderr is not None
        said = running.process.stderr.read()
        assert code == 0, said
        return said


def _shop(house: House) -> str:
    connection = apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)
    number = connection.execute("SELECT min(number) FROM account WHERE kind = 'commercial' AND state = 'approved'").get
    connection.close()
    return str(number)


def test_a_server_that_stops_seals_what_is_left_and_its_last_head_is_in_the_chain(house: House) -> None:
    heads = HEAD.findall(served_and_stopped(house))
    assert covers_all(house)
    verified = house.invoke("verify", "--head", heads[-1])
    assert (verified.returncode, verified.stderr) == (0, "")


def test_an_act_without_a_server_is_sealed_when_it_ends(house: House) -> None:
    house.act("account", "suspend", _shop(house), "--reason", "قرش 🪙", **house.operator())
    assert covers_all(house)


def test_a_tail_that_was_cut_off_is_found_with_the_head_from_the_log(house: House) -> None:
    head = HEAD.findall(served_and_stopped(house))[-1]
    connection = apsw.Connection(str(house.database))
    guards = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name IN ('audit_remains', 'seal_remains')"
    ).fetchall()
    connection.execute("; ".join(f"DROP TRIGGER {name}" for name, _ in guards))
    [(content,)] = connection.execute("SELECT content FROM seal ORDER BY number DESC LIMIT 1").fetchall()
    first = re.search(r"^audit (\d+)", str(content), re.MULTILINE)
    assert first is not None
    connection.execute("DELETE FROM seal WHERE number = (SELECT max(number) FROM seal)")
    connection.execute("DELETE FROM audit WHERE id >= ?", (int(first.group(1)),))
    for _, sql in guards:
        connection.execute(str(sql))
    connection.close()
    assert house.invoke("verify").returncode == 0  # Nothing else can tell.
    verified = house.invoke("verify", "--head", head)
    assert verified.returncode == 1
    number = int(head.partition(":")[0])
    assert f"seal {number}, which was given, is not there: the chain ends at seal {number - 1}" in verified.stdout


def test_a_head_that_is_none_is_refused_in_words(house: House, subtests: pytest.Subtests) -> None:
    for head in ("17", "17:ab", "x:" + "0" * 64, "1:" + "g" * 64):
        with subtests.test(head):
            refused = house.invoke("verify", "--head", head)
            assert refused.returncode == 2
            assert "is not like 17:" in refused.stderr


def test_the_books_are_checked_and_a_stop_is_lifted_from_the_command_line(house: House) -> None:
    with house.serving("serve", until="listening") as running:
        assert house.act("audit", "run", **house.operator())["violations"] == 0
        connection = apsw.Connection(str(house.database))
        connection.set_busy_timeout(5000)
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'balance' AND type = 'trigger'"
        )
        dropped = guards.fetchall()

        def add(coins: int) -> None:
            with connection:
                connection.execute("; ".join(f"DROP TRIGGER {name}" for name, _ in dropped))
                connection.execute(
                    "UPDATE balance SET amount = amount + ? WHERE amount > 100 AND is_house = 0", (coins,)
                )
                for _, sql in dropped:
                    connection.execute(str(sql))

        add(7)
        ended = house.invoke("audit", "run", "--json", **house.operator())
        found = json.loads(ended.stdout)["done"]
        assert (ended.returncode, found["violations"] > 0, found["money"]) == (1, True, "stopped")
        assert "money movement is stopped" in house.invoke("status").stdout
        early = house.invoke("audit", "lift", "--reason", "early", **house.operator())
        assert early.returncode == 1
        assert "rules are still broken" in early.stderr
        add(-7)
        asked = house.invoke("audit", "lift", "--reason", "put back", **house.operator())
        assert asked.returncode == 0, asked.stderr
        assert "Money stands still until another operator has run `qirsh proposal confirm`" in asked.stdout
        assert "money movement is stopped" in house.invoke("status").stdout
        [item] = house.proposed(**house.operator())
        lift = ("proposal", "confirm", item["id"], "--digest", item["digest"])
        assert house.act(*lift, **house.operator("operator2"))["state"] == "done"
        assert running.get("/readyz")["status"] == "ready"
        connection.close()
