"""`qirsh doctor`: each check sees what it is for."""

import re
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from qirsh.doctor.checks import CHECKS, examine
from qirsh.doctor.doctor_check import Finding
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.settings import read_settings
from tests.cli.conftest import Made, copy_of
from tests.cli.program import House, Running
from tests.live import free_port
from tests.waiting import wait_until


def findings(text: str) -> dict[str, str]:
    """Name -> level."""
    return {line[6:].partition("  ")[0]: line[:6].strip() for line in text.splitlines()}


def look(house: House, name: str, **variables: str) -> Finding:
    """What one check of all those finds, with the settings that the program would have."""
    told = {key: value for key, value in house.environment(**variables).items() if key.startswith("QIRSH_")}
    return examine(read_settings(told), {name: CHECKS[name]})[name]


def run_sql(house: House, sql: str) -> None:
    with closing(apsw.Connection(str(house.database))) as connection:
        connection.execute(sql)


def test_a_demo_is_fit_to_serve_at_rest_and_while_it_serves(house: House, served: tuple[House, Running]) -> None:
    ended = house.run("doctor")
    assert ended.returncode == 0, ended.stdout
    shared, running = served
    port = running.url.rpartition(":")[2]
    ended = shared.invoke("doctor", QIRSH_PORT=port)
    assert ended.returncode == 0, ended.stdout
    assert f"port {port}, served by process {running.process.pid} from this data" in ended.stdout
    elsewhere = shared.invoke("doctor", QIRSH_PORT=str(free_port())).stdout
    assert (
        f"process {running.process.pid} serves this data on {running.url}, with other settings than these" in elsewhere
    )


def test_money_that_is_stopped_is_told(house: House) -> None:
    assert look(house, "Money").level == "ok"
    run_sql(house, "INSERT INTO stop (id, at, reason) VALUES (1, 1800000000000, 'balances in USD sum to 5')")
    ended = house.invoke("doctor")
    assert (ended.returncode, findings(ended.stdout)["Money"]) == (1, "bad")
    assert "stopped: balances in USD sum to 5" in ended.stdout
    ended = house.invoke("status")
    assert ended.returncode == 1


def test_an_empty_folder_lacks_operators_only_and_stays_empty(empty: House) -> None:
    ended = empty.run("doctor")
    assert ended.returncode == 1
    assert [name for name, level in findings(ended.stdout).items() if level == "bad"] == ["Operators"]
    assert not empty.folder.exists()


SPOILT: dict[str, tuple[str, Callable[[House], object], dict[str, str], str]] = {
    "open folder": ("Data directory", lambda h: h.folder.chmod(0o755), {}, "chmod go="),
    "open database": ("Data directory", lambda h: h.database.chmod(0o644), {}, "qirsh.db: chmod go="),
    "lost secret": ("Secret key", lambda h: (h.folder / "secret.key").unlink(), {}, "is missing"),
    "empty secret": (
        "Secret key",
        lambda h: (h.folder / "secret.key").write_text(""),
        {},
        "secret.key holds no secret",
    ),
    "spoilt memory": (
        "Chain memory",
        lambda h: (h.folder / "chain-head.json").write_text("nonsense"),
        {},
        "a server keeps this file as chain-head.json.unreadable and begins anew",
    ),
    "other secret": (
        "Secret key",
        lambda _: None,
        {"QIRSH_SECRET_KEY": "0123456789abcdef" * 2},
        "to another database",
    ),
    "newer schema": (
        "Database",
        lambda h: run_sql(h, "INSERT INTO schema_migration VALUES (999, 'later', 'x', 0)"),
        {},
        "run the newer Qirsh",
    ),
    "no database": ("Database", lambda h: h.database.write_bytes(b"something else" * 99), {}, "not a SQLite database"),
    "other journal": ("Durability", lambda h: run_sql(h, "PRAGMA journal_mode = DELETE"), {}, "not wal"),
    "plain http": ("Base URL", lambda _: None, {"QIRSH_BASE_URL": "http://pay.example"}, "is not https"),
    "clock set back": (
        "Clock",
        lambda h: run_sql(h, "INSERT INTO audit SELECT NULL, at + 9000000, actor, action, subject, detail FROM audit"),
        {},
        "behind the newest audit entry",
    ),
}


def test_what_is_wrong_is_told_in_words(made: Made, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name, (check, spoil, variables, words) in SPOILT.items():
        with subtests.test(name):
            house = copy_of(made, tmp_path / name)
            spoil(house)
            found = look(house, check, **variables)
            assert (found.level, words in found.words) == ("bad", True), found


def test_a_socket_that_others_could_replace_is_told(house: House) -> None:
    folder = house.folder.parent / "run"
    socket_path = {"QIRSH_CONTROL_SOCKET": str(folder / "control.sock")}
    assert look(house, "Control socket", **socket_path).level == "bad"
    folder.mkdir(mode=0o755)
    assert look(house, "Control socket", **socket_path).level == "note"
    assert look(house, "Control socket", QIRSH_OPERATORS_GROUP="0", **socket_path).level == "ok"
    folder.chmod(0o775)
    ended = house.invoke("doctor", **socket_path)
    assert (ended.returncode, findings(ended.stdout)["Control socket"]) == (1, "bad")


def test_how_far_a_rotation_of_the_secret_has_come_is_told_until_the_old_one_can_go(house: House) -> None:
    by = house.operator()
    [payout] = house.act("payout", "list", **by)["payouts"]  # Its bank details would be left to end with it.
    house.act("payout", "refuse", payout["id"], "--reason", "a demo", **by)
    old, new = (house.folder / "secret.key").read_text().strip(), "0123456789abcdef" * 2
    assert look(house, "Old secrets").level == "ok"
    both = f"{new},{old}"
    told = house.invoke("doctor", QIRSH_SECRET_KEY=both)
    assert (told.returncode, findings(told.stdout)["Old secrets"]) == (0, "note")
    assert re.search(r"keep the old secret.*\d PINs.*3 authenticator keys.*1 mark of the database", told.stdout)
    early = house.run("serve", QIRSH_SECRET_KEY=new)
    assert (early.returncode, "is not the one that this database was made with" in early.stderr) == (2, True)
    mark = mark_of(house)
    with house.serving("serve", until="listening", QIRSH_SECRET_KEY=both):
        wait_until(lambda: mark_of(house) != mark)  # Renewed last.
    found = look(house, "Old secrets", QIRSH_SECRET_KEY=both).words
    assert "mark of the database" not in found
    assert "authenticator keys" not in found
    assert re.search(r"keep the old secret.*\d PINs", found)
    # Whoever cannot wait: those whose PIN is left set a new one.
    assert look(house, "Old secrets", QIRSH_SECRET_KEY=new).level == "bad"
    run_sql(house, "DELETE FROM pin; DELETE FROM mail")
    found = look(house, "Old secrets", QIRSH_SECRET_KEY=both).words
    assert "nothing is under an old secret any more: drop it from QIRSH_SECRET_KEY" in found
    assert look(house, "Old secrets", QIRSH_SECRET_KEY=new).level == "ok"
    with house.serving("serve", until="listening", QIRSH_SECRET_KEY=new):
        pass


def mark_of(house: House) -> object:
    """It names the secret that the database is under."""
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute("SELECT value FROM constant WHERE name = 'secret_check'").get


def test_endpoints_that_nothing_is_sent_to_for_want_of_their_secret_are_named(house: House) -> None:
    assert look(house, "Webhook secrets").level == "ok"
    key = (house.folder / "secret.key").read_bytes().strip()
    sealed = WebhookSecrets(Keyring([key], system_entropy)).sealed("whsec_x", "we_mine")
    row = (
        "INSERT INTO webhook_endpoint VALUES ('{}', (SELECT max(number) FROM account), 'https://shop.example', '', '',"
    )
    row += " '{}', '', {}, x'', NULL, 1, 1)"
    run_sql(house, row.format("we_mine", "paused", f"x'{sealed.hex()}'"))
    run_sql(house, row.format("we_gone", "removed", "x''"))
    well = look(house, "Webhook secrets")
    assert (well.level, "we_mine" in well.words) == ("ok", False)
    for endpoint in ("we_borrows", "we_borrows_too"):
        run_sql(house, row.format(endpoint, "enabled", f"x'{sealed.hex()}'"))
    told = house.invoke("doctor")
    assert (told.returncode, findings(told.stdout)["Webhook secrets"]) == (1, "bad")
    assert "nothing is sent to we_borrows, we_borrows_too: this secret key does not open their secrets" in told.stdout
    another = {"QIRSH_SECRET_KEY": "0123456789abcdef" * 2}
    named = re.search(r"nothing is sent to ([^:]*):", look(house, "Webhook secrets", **another).words)
    assert named is not None
    assert {*named[1].split(", ")} > {"we_borrows", "we_borrows_too", "we_mine"}  # And the demo's own.
    old = look(house, "Old secrets", **another).words
    assert re.search(r"under a secret that is not set any more:.*5 webhook secrets", old)


def test_a_database_of_an_earlier_version_has_no_endpoints_yet(house: House) -> None:
    for table in ("attempt", "delivery", "queue", "endpoint"):
        run_sql(house, f"DROP TABLE webhook_{table}")
    run_sql(house, "DELETE FROM schema_migration WHERE number >= 3")
    assert look(house, "Webhook secrets").level == "note"
    assert look(house, "Old secrets").level == "ok"


def test_a_port_of_another_program_is_told(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = house.invoke("doctor", QIRSH_PORT=str(taken.getsockname()[1]))
    assert ended.returncode == 1
    assert findings(ended.stdout)["Port"] == "bad"


def test_one_operator_is_not_enough(empty: House) -> None:
    stdin = "correct horse battery\n"
    empty.act("operator", "create", "--email", "a@x.org", "--name", "A", "--password-stdin", stdin=stdin)
    ended = empty.invoke("doctor")
    assert ended.returncode == 1
    assert "1: deposits take two" in ended.stdout


def test_of_a_demo_it_is_told_that_mails_are_shown_and_people_can_join(house: House) -> None:
    ended = house.invoke("doctor")
    assert (ended.returncode, findings(ended.stdout)["Mail"]) == (0, "note")
    assert "`qirsh demo` shows each one at /demo/mail, and people can join there" in ended.stdout
    assert "so nobody can join" not in ended.stdout


def test_where_webhooks_may_go_is_told(house: House) -> None:
    found = look(house, "Webhooks")
    assert (found.level, "public addresses only" in found.words) == ("ok", True)
    ended = house.invoke("doctor", QIRSH_WEBHOOK_NETWORKS="10.1.0.0/16,::1")
    assert (ended.returncode, findings(ended.stdout)["Webhooks"]) == (0, "note")
    assert "go to 10.1.0.0/16, ::1/128 too, by http and to any port" in ended.stdout


def test_whether_mail_can_be_sent_is_told(house: House) -> None:
    (house.folder / "demo.json").unlink()
    ended = house.invoke("doctor")
    assert (ended.returncode, findings(ended.stdout)["Mail"]) == (0, "note")
    assert "nobody can join, set a forgotten password or become the second operator: see QIRSH_SMTP_URL" in ended.stdout
    sender = {"QIRSH_MAIL_FROM": "Qirsh <pay@example.org>"}
    ended = house.invoke("doctor", QIRSH_SMTP_URL="smtps://qirsh:hush@mail.example", **sender)
    assert ended.returncode == 0
    assert re.search(r"^ok    Mail ", ended.stdout, re.MULTILINE)
    assert "through smtps://mail.example:465, from Qirsh <pay@example.org>" in ended.stdout
    assert "hush" not in ended.stdout
    ended = house.invoke("doctor", QIRSH_SMTP_URL="smtp://mail.example", **sender)
    assert (ended.returncode, findings(ended.stdout)["Mail"]) == (1, "bad")
