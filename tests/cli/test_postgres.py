"""Every command on PostgreSQL: QIRSH_DATABASE_URL is the only difference, and its password is never shown."""

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import msgspec
import pytest

from qirsh.contract.timestamps import timestamp
from qirsh.doctor import postgres_checks
from qirsh.domain.tables import LOCK_ORDER, WRITE_ORDER
from qirsh.engine.clock import system_clock
from qirsh.setting_values import PostgresUrl
from qirsh.settings import read_settings
from tests.cli.conftest import LAST_LINE
from tests.cli.demo.test_demo import being_made, pasted
from tests.cli.demo.test_demo_webhooks import both, deliveries, happen, shown
from tests.cli.doctor.test_doctor import findings, look
from tests.cli.program import PASSWORD, Ended, House
from tests.postgres import PostgresServer
from tests.waiting import wait_until

CREATE = ("operator", "create", "--email", "a@x.org", "--name", "A", "--password-stdin")


class PostgresHouse(House):
    """A data directory whose database is elsewhere."""

    grants = ""  # What its role is to be granted.

    def __init__(self, folder: Path, url: str, postgres: PostgresServer) -> None:
        super().__init__(folder)
        self.url = url
        self.server = postgres

    def environment(self, **variables: str) -> dict[str, str]:
        return super().environment(**{"QIRSH_DATABASE_URL": self.url} | variables)

    def sql(self, sql: str) -> str:
        return self.server.sql(sql, self.url.rpartition("/")[2])

    def elsewhere(self, folder: Path) -> "PostgresHouse":
        """Another machine on the same database."""
        return PostgresHouse(folder, self.url, self.server)


@pytest.fixture
def fresh(postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresHouse]:
    """An empty database, and a folder that does not exist yet."""
    with postgres.database() as url:
        yield PostgresHouse(tmp_path / "d", url, postgres)


@pytest.fixture(scope="module")
def seeded(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresHouse]:
    """A demo at rest. Whatever a test changes in it, the others must not mind."""
    with postgres.database() as url:
        house = PostgresHouse(tmp_path_factory.mktemp("seeded") / "d", url, postgres)
        with house.serving("demo", until=LAST_LINE) as demo:
            assert '"status":"paid"' in pasted(demo)
            assert demo.stop() == 0
        yield house


@pytest.fixture
def copied(seeded: PostgresHouse, postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresHouse]:
    """A demo for this test alone."""
    subprocess.run(["cp", "-r", seeded.folder, tmp_path / "d"], check=True)
    with postgres.database(seeded.url.rpartition("/")[2]) as url:
        yield PostgresHouse(tmp_path / "d", url, postgres)


def password_of(house: PostgresHouse) -> str:
    return house.url.split(":")[2].partition("@")[0]


def quiet_about_the_password(house: PostgresHouse, ended: Ended) -> Ended:
    assert password_of(house) not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


# From nothing.


def test_of_an_empty_database_every_look_says_so_and_leaves_it_empty(fresh: PostgresHouse) -> None:
    shown = quiet_about_the_password(fresh, fresh.invoke("status")).stdout
    assert f"Database   {fresh.url.replace(f':{password_of(fresh)}@', '@')}\n" in shown
    assert "Operators  0" in shown
    ended = quiet_about_the_password(fresh, fresh.invoke("verify", "--json"))
    assert (ended.returncode, json.loads(ended.stdout)["verdict"]) == (2, "unknown")
    doctor = quiet_about_the_password(fresh, fresh.invoke("doctor"))
    assert [name for name, level in findings(doctor.stdout).items() if level == "bad"] == ["Operators"]
    ended = quiet_about_the_password(fresh, fresh.invoke("account", "approve", "1"))
    assert (ended.returncode, "is QIRSH_DATABASE_URL right?" in ended.stderr) == (2, True)
    assert fresh.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0"
    assert not fresh.folder.exists()


def test_operators_are_made_without_a_server_and_beside_one(fresh: PostgresHouse, tmp_path: Path) -> None:
    first = fresh.act(*CREATE, stdin=f"{PASSWORD}\n")
    by = {
        "QIRSH_OPERATOR_EMAIL": "a@x.org",
        "QIRSH_OPERATOR_PASSWORD": PASSWORD,
        "QIRSH_OPERATOR_TOTP_SECRET": first["totpSecret"],
    }
    other = fresh.elsewhere(tmp_path / "other")
    secret = (fresh.folder / "secret.key").read_text().strip()
    with fresh.serving("serve", until="listening"):
        # Another machine has no control socket of this one, and needs none: it writes by itself.
        words = ("operator", "create", "--email", "b@x.org", "--name", "B", "--reason", "one more")
        mail = {"QIRSH_SMTP_URL": "smtp://127.0.0.1:9", "QIRSH_MAIL_FROM": "pay@x.org"}
        done = other.act(*words, QIRSH_SECRET_KEY=secret, **by, **mail)
        assert (done["action"], done["state"]) == ("operator create", "done")
        assert "Operators  1" in fresh.invoke("status").stdout
        assert fresh.invoke("verify").returncode == 0


@pytest.mark.parametrize("content", ["", "short\n"])
def test_a_file_of_the_secret_key_that_holds_none_is_refused(fresh: PostgresHouse, content: str) -> None:
    fresh.folder.mkdir(mode=0o700)
    (fresh.folder / "secret.key").write_text(content)
    ended = fresh.invoke(*CREATE, stdin=f"{PASSWORD}\n")
    assert ended.returncode == 2
    assert "secret.key holds no secret of at least 32 random characters: put back what it held" in ended.stderr
    assert (fresh.folder / "secret.key").read_text() == content


def test_another_machine_without_the_secret_is_told_what_to_set(seeded: PostgresHouse, tmp_path: Path) -> None:
    other = seeded.elsewhere(tmp_path / "other")
    ended = other.invoke("account", "verify", "1", **seeded.operator())
    assert ended.returncode == 2
    assert "secret.key is missing: put it back, or set QIRSH_SECRET_KEY to what it held" in ended.stderr
    doctor = other.invoke("doctor")
    assert findings(doctor.stdout)["Secret key"] == "bad"
    assert "set QIRSH_SECRET_KEY to what it held" in doctor.stdout
    wrong = other.invoke("account", "verify", "1", QIRSH_SECRET_KEY="0123456789abcdef" * 2, **seeded.operator())
    assert "the secret key is not the one that this database was made with" in wrong.stderr


# The demo.


@pytest.mark.slow
def test_a_demo_goes_on_with_the_same_credentials_even_after_a_kill(copied: PostgresHouse) -> None:
    before = copied.demo()
    for _ in range(2):
        with copied.serving("demo", until=LAST_LINE) as demo:
            assert '"status":"paid"' in pasted(demo)
            assert quiet_about_the_password(copied, copied.run("status")).stdout.startswith("Server     running")
            demo.stop(signal.SIGKILL)
        assert copied.demo() == before
    assert copied.invoke("verify").returncode == 0
    assert copied.invoke("doctor").returncode == 0


@pytest.mark.slow
def test_a_demo_s_webhooks_were_delivered_and_go_on(copied: PostgresHouse) -> None:
    with copied.serving("demo", until=LAST_LINE) as demo:
        assert "Signature valid" in shown(demo, happen(copied, demo))
        working, failing = both(copied, demo)
        wait_until(lambda: {one["state"] for one in deliveries(copied, demo, working["id"])} == {"delivered"})
        assert len(deliveries(copied, demo, working["id"])) > 50
        assert {one["state"] for one in deliveries(copied, demo, failing["id"])} == {"waiting"}
    assert copied.invoke("verify").returncode == 0


def test_a_database_that_is_not_this_folder_s_demo_is_refused(seeded: PostgresHouse, tmp_path: Path) -> None:
    ended = quiet_about_the_password(seeded, seeded.elsewhere(tmp_path / "other").run("demo"))
    assert ended.returncode == 2
    assert "is not empty, and not the demo of" in ended.stderr
    assert not (tmp_path / "other" / "demo.json").exists()


def test_a_database_with_somebody_s_table_is_refused(fresh: PostgresHouse) -> None:
    fresh.sql("CREATE SCHEMA theirs; CREATE TABLE theirs.notes (a int)")
    assert "is not empty" in fresh.run("demo").stderr
    assert fresh.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0"


def test_credentials_of_another_demo_are_refused(
    seeded: PostgresHouse, copied: PostgresHouse, fresh: PostgresHouse
) -> None:
    kept = seeded.elsewhere(fresh.folder.with_name("kept"))
    kept.folder.mkdir()
    (kept.folder / "demo.json").write_text((seeded.folder / "demo.json").read_text())
    kept.url = fresh.url
    ended = kept.run("demo")
    assert (ended.returncode, "is of another database" in ended.stderr) == (2, True)
    # All demos have the same people: the shop tells them apart.
    file = copied.folder / "demo.json"
    file.write_text(json.dumps(copied.demo() | {"shopAccount": "100000000001"}))
    assert "is of another database" in copied.run("demo").stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_interrupted_while_it_was_being_made_it_says_so_and_what_to_do(
    fresh: PostgresHouse, how: signal.Signals
) -> None:
    with being_made(fresh) as process:
        process.send_signal(how)
        process.communicate()
    assert not (fresh.folder / "demo.json").exists()
    ended = quiet_about_the_password(fresh, fresh.run("demo"))
    assert ended.returncode == 2
    assert "was interrupted while it was being made: drop that database and create it again" in ended.stderr
    if how == signal.SIGKILL:
        return  # To do what it says takes two seconds of a core, and does not depend on the signal.
    fresh.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with fresh.serving("demo", until=LAST_LINE) as demo:
        assert '"status":"paid"' in pasted(demo)


# Verify and doctor.


def test_verify_names_the_rows_that_break_a_rule_and_a_guard_that_sleeps(copied: PostgresHouse) -> None:
    account = copied.demo()["customer"]["account"]
    copied.sql("ALTER TABLE balance DISABLE TRIGGER balances_follow")
    copied.sql(f"UPDATE balance SET amount = amount + 1 WHERE account = {account}")  # noqa: S608 - our own
    ended = quiet_about_the_password(copied, copied.run("verify"))
    assert ended.returncode == 1
    assert f"balance of account {account} in USD is " in ended.stdout
    assert "trigger balances_follow on balance is switched off" in ended.stdout
    assert "break a rule" in ended.stderr
    verdict = json.loads(copied.invoke("verify", "--json").stdout)
    assert verdict["verdict"] == "bad"
    assert any(account in violation["sentence"] for violation in verdict["violations"])


UNREACHABLE: dict[str, Callable[[str], str]] = {
    "no server": lambda url: f"{url.rpartition(':')[0]}:1/d",
    "wrong password": lambda url: url.replace("postgres:", "postgres:not", 1),
    "no database": lambda url: f"{url}x",
}


@pytest.mark.parametrize("name", UNREACHABLE)
def test_without_a_database_every_command_says_why(seeded: PostgresHouse, name: str, tmp_path: Path) -> None:
    house = seeded.elsewhere(tmp_path / "other")
    house.url = UNREACHABLE[name](seeded.url)
    for words in (("verify",), ("demo",), ("serve",), ("account", "approve", "1"), CREATE):
        ended = quiet_about_the_password(seeded, house.invoke(*words, stdin=f"{PASSWORD}\n"))
        assert ended.returncode == 2, (words, ended)
        assert ended.stderr.startswith("qirsh: "), (words, ended)
    assert "Operators  unknown: " in quiet_about_the_password(seeded, house.invoke("status")).stdout
    doctor = quiet_about_the_password(seeded, house.invoke("doctor"))
    assert doctor.returncode == 1
    assert [check for check, level in findings(doctor.stdout).items() if level == "bad"] == ["PostgreSQL"], "said once"


# What is done to a database, and undone; which check sees it, and in what words.
SPOILT = (
    (
        "INSERT INTO schema_migration VALUES (999, 'later', 'x', 0)",
        "DELETE FROM schema_migration WHERE number = 999",
        ("Database", "run the newer Qirsh"),
    ),
    (
        "ALTER DATABASE {} SET synchronous_commit = off",
        "ALTER DATABASE {} RESET ALL",
        ("Durability", "synchronous_commit off"),
    ),
    (
        "ALTER DATABASE {} SET session_replication_role = replica",
        "ALTER DATABASE {} RESET ALL",
        ("Guards", "is replica"),
    ),
    (
        "ALTER TABLE transfer DISABLE TRIGGER ALL",
        "ALTER TABLE transfer ENABLE TRIGGER ALL",
        ("Guards", "the database would take bad money: trigger transfer"),
    ),
    (
        "INSERT INTO audit (at, actor, action, subject, detail) SELECT max(at) + 9000000000, '', '', '', '' FROM audit",
        "",
        ("Clock", "behind the newest audit entry"),
    ),
)


def test_doctor_tells_what_is_wrong_in_words(copied: PostgresHouse, subtests: pytest.Subtests) -> None:
    for done, undone, (check, words) in SPOILT:
        with subtests.test(done):
            assert look(copied, check).level == "ok"
            copied.sql(done.format(copied.url.rpartition("/")[2]))
            found = look(copied, check)
            assert (found.level, words in found.words) == ("bad", True), found
            assert password_of(copied) not in found.words
            copied.sql(undone.format(copied.url.rpartition("/")[2]))
    assert copied.invoke("doctor").returncode == 1


def test_doctor_names_what_the_role_or_database_sets_otherwise(copied: PostgresHouse) -> None:
    assert look(copied, "Preferences").level == "ok"
    database = copied.url.rpartition("/")[2]
    copied.sql(f"ALTER DATABASE {database} SET lock_timeout = '1s'")
    copied.sql(f"ALTER ROLE postgres IN DATABASE {database} SET default_transaction_isolation = 'serializable'")
    found = look(copied, "Preferences")
    assert found.level == "note"
    assert "sets default_transaction_isolation=serializable, lock_timeout=1s:" in found.words


def test_doctor_counts_the_connections_that_the_workers_will_need(seeded: PostgresHouse) -> None:
    found = look(seeded, "Connections", QIRSH_WORKERS="51")
    assert found.level == "bad"
    assert "510 needed for QIRSH_WORKERS = 51" in found.words
    assert look(seeded, "Connections", QIRSH_WORKERS="2").level == "ok"


def test_doctor_compares_the_clocks_of_both_machines(seeded: PostgresHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(seeded, "Clock").level == "ok"
    monkeypatch.setattr("qirsh.doctor.postgres_checks.system_clock", lambda: system_clock() - 90_500)
    assert "this machine and the database are 90 s apart" in look(seeded, "Clock").words


def test_the_demo_of_a_server_is_not_replaced_by_one_in_its_folder(seeded: PostgresHouse) -> None:
    kept = (seeded.folder / "demo.json").read_bytes()
    ended = House(seeded.folder).run("demo")
    assert ended.returncode == 2
    assert "name that in QIRSH_DATABASE_URL, or use another folder" in ended.stderr
    assert (seeded.folder / "demo.json").read_bytes() == kept


def test_two_servers_do_not_share_a_data_directory(copied: PostgresHouse) -> None:
    with copied.serving("serve", until="is listening"):
        second = copied.run("serve")
        assert second.returncode == 2
        assert "set QIRSH_DATA_DIR to a directory of its own" in second.stderr
        assert "running as process" in copied.run("status").stdout


def test_a_server_of_one_process_goes_on_after_sighup(copied: PostgresHouse) -> None:
    with copied.serving("serve", until="is listening") as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.get("/healthz") == {"status": "ok"}
        assert server.stop() == 0


# A role that does not own the tables.

GUIDE = (Path(__file__).parents[2] / "docs/operating.md").read_text()


def told_sql(beginning: str) -> str:
    """A block of the guide for operators."""
    [block] = re.findall(rf"```sql\n({beginning}.*?)```", GUIDE, re.DOTALL)
    return str(block)


@contextmanager
def of_two_roles(
    postgres: PostgresServer, folder: Path, template: str = "template1"
) -> Iterator[tuple[PostgresHouse, str]]:
    """A house that is served by one role, and the address of the owner, as the guide says."""
    database = postgres.create_database(template)
    owner, role = f"owner_{database}", f"role_{database}"

    def own(sql: str) -> str:
        named = re.sub(r"\bqirsh_owner\b", owner, sql)
        return re.sub(r"\bqirsh\b", role, named)

    for line in told_sql("CREATE ROLE qirsh_owner").splitlines():
        if line.startswith("CREATE ROLE"):
            postgres.sql(own(line))
    postgres.sql(f"ALTER DATABASE {database} OWNER TO {owner}")
    place = f"127.0.0.1:{postgres.port}/{database}"
    house = PostgresHouse(folder, f"postgresql://{role}:another%20long%20one@{place}", postgres)
    house.grants = own(told_sql("GRANT"))
    try:
        yield house, f"postgresql://{owner}:a%20long%20one@{place}"
    finally:
        postgres.drop_database(database)
        postgres.sql(f"DROP ROLE {owner}; DROP ROLE {role}")


def test_a_role_that_does_not_own_the_tables_serves(postgres: PostgresServer, tmp_path: Path) -> None:
    with of_two_roles(postgres, tmp_path / "d") as (house, owner):
        early = house.invoke(*CREATE, stdin=f"{PASSWORD}\n")
        assert (early.returncode, "run `qirsh migrate` with the address of their owner" in early.stderr) == (2, True)
        made = house.invoke("migrate", QIRSH_DATABASE_URL=owner)
        assert made.returncode == 0, made.stderr
        early = house.invoke("serve")
        assert (early.returncode, "run the GRANTs for this role" in early.stderr) == (2, True), early.stderr
        asyncio.run(executed(owner, house.grants))
        house.act(*CREATE, stdin=f"{PASSWORD}\n")
        assert house.invoke("verify").returncode == 0
        assert look(house, "Role").level == "ok"
        assert look(house, "Role", QIRSH_DATABASE_URL=owner).level == "note"
        for sql in (
            "UPDATE transfer SET amount = 1",
            "DELETE FROM audit",
            "DELETE FROM account",
            "TRUNCATE payment",
            "ALTER TABLE transfer DISABLE TRIGGER ALL",
            "DROP TRIGGER audit_stays ON audit",
            "INSERT INTO schema_migration VALUES (99, 'x', 'x', 0)",
            "SET session_replication_role = replica",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                asyncio.run(executed(house.url, sql))


def test_such_a_role_carries_out_all_that_a_demo_does(
    seeded: PostgresHouse, postgres: PostgresServer, tmp_path: Path
) -> None:
    subprocess.run(["cp", "-r", seeded.folder, tmp_path / "d"], check=True)
    with of_two_roles(postgres, tmp_path / "d", seeded.url.rpartition("/")[2]) as (house, owner):
        tables = house.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split()
        to = owner.partition("//")[2].partition(":")[0]
        house.sql("; ".join(f"ALTER TABLE {table} OWNER TO {to}" for table in tables))
        asyncio.run(executed(owner, house.grants))
        with house.serving("demo", until=LAST_LINE) as demo:
            assert '"status":"paid"' in pasted(demo)
            person = ("person", "add", "--email", "p@x.org", "--name", "P", "--password-stdin", "--pin-stdin")
            account = house.act(*person, stdin=f"{PASSWORD}\n246813\n", **house.operator())["account"]
            house.act("account", "verify", account, **house.operator())
            ask = ("deposit", "ask", account, "1.00", "USD", "--reference", "slip")
            house.act(*ask, **house.operator())
            house.act("deposit", "confirm", "--reference", "slip", **house.operator("operator2"))
            assert demo.stop() == 0
        ended = house.invoke("verify")
        assert ended.returncode == 0, ended.stdout
        doctor = house.invoke("doctor")
        assert (doctor.returncode, findings(doctor.stdout)["Role"]) == (0, "ok")
        restored = house.invoke("restored", "--taken-at", timestamp(system_clock()))
        assert restored.returncode == 0, restored.stderr
        assert house.invoke("verify").returncode == 0


async def executed(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


def test_the_guide_grants_what_the_tables_need_and_no_more() -> None:
    grants = told_sql("GRANT")

    def named(beginning: str) -> set[str]:
        [tables] = re.findall(rf"^{beginning} ON ([\w, ]+) (?:TO|FROM) qirsh;", grants, re.MULTILINE)
        return set(tables.split(", "))

    never = {table.name for table in LOCK_ORDER if not (table.is_locked or table.changes)}
    logs = {table.name for how, table in WRITE_ORDER if how == "append"}
    assert named("REVOKE UPDATE") == never | logs
    assert named("GRANT DELETE") == {table.name for table in LOCK_ORDER if table.is_removable} | {"writer"}


def test_of_several_hosts_commands_take_the_primary_and_say_which(seeded: PostgresHouse) -> None:
    primary = f"127.0.0.1:{seeded.server.port}"
    house = seeded.elsewhere(seeded.folder)
    house.url = seeded.url.replace(primary, f"127.0.0.1:1,{primary}")
    ended = quiet_about_the_password(seeded, house.invoke("verify"))
    assert (ended.returncode, f"({primary}, the primary)" in ended.stdout) == (0, True), ended
    assert json.loads(house.invoke("verify", "--json").stdout)["host"] == f"{primary}, the primary"
    assert "host" not in json.loads(seeded.invoke("verify", "--json").stdout)
    assert house.invoke("migrate").returncode == 0
    doctor = quiet_about_the_password(seeded, house.invoke("doctor"))
    levels = findings(doctor.stdout)
    assert (levels["PostgreSQL"], levels["Hosts"], levels["Standbys"]) == ("ok", "note", "bad")
    assert "127.0.0.1:1 cannot be reached: " in doctor.stdout
    assert f"{primary} is the primary" in doctor.stdout
    house.url = seeded.url.replace(primary, "127.0.0.1:1,127.0.0.1:2")
    for words in (("verify",), ("serve",), ("migrate",)):
        ended = quiet_about_the_password(seeded, house.invoke(*words))
        assert (ended.returncode, "127.0.0.1:1 cannot" in ended.stderr, "127.0.0.1:2 cannot" in ended.stderr) == (
            *(2, True, True),
        ), ended


def test_a_line_that_cannot_be_guarded_as_asked_is_not_used(seeded: PostgresHouse, tmp_path: Path) -> None:
    house = PostgresHouse(tmp_path / "d", f"{seeded.url}?sslmode=verify-full", seeded.server)
    for words in (("verify",), ("serve",), ("doctor",)):
        ended = quiet_about_the_password(seeded, house.run(*words))
        assert ended.returncode in {1, 2}
        assert "root certificate" in ended.stdout + ended.stderr


def test_doctor_says_how_the_line_is_guarded(seeded: PostgresHouse) -> None:
    levels = {"": "ok", "disable": "bad", "prefer": "bad", "require": "note", "verify-ca": "note", "verify-full": "ok"}
    for mode, level in levels.items():
        url = PostgresUrl(f"postgresql://db.example/qirsh?sslmode={mode}") if mode else PostgresUrl(seeded.url)
        settings = msgspec.structs.replace(read_settings({}), database=url)
        assert postgres_checks.line(settings).level == level
