"""`qirsh demo`: what it makes, what it prints, and that it survives whatever happens to it."""

import asyncio
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pyotp
import pytest

from qirsh.cli.demo.seed import SHOP
from qirsh.domain.commands.login_credentials import ChangePassword, ChangePin
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refused
from qirsh.service import opened
from qirsh.settings import read_settings
from tests.cli.conftest import LAST_LINE, Made
from tests.cli.program import House, Running
from tests.forked import Program
from tests.live import PASSWORD, PIN
from tests.quick_passwords import quick_passwords

WORKSHOP = "demo-in-the-making"
WEEK_MS = 7 * 24 * 3600 * 1000


def rows(house: House, sql: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute(sql).fetchall()


def pasted(running: Running) -> str:
    """What a shell says to the block that was printed, from its first comment to the empty line after it."""
    assert running.process.stdout is not None
    block = running.printed[running.printed.index("# 1. ") :]
    for line in running.process.stdout:
        block += line
        if not line.strip():
            break
    shell = subprocess.run(["sh", "-eu"], input=block, capture_output=True, text=True, check=True)
    assert shell.stderr == ""
    return shell.stdout


def test_the_printed_commands_pasted_into_a_shell_pay_a_payment(house: House) -> None:
    with house.serving("demo", until=LAST_LINE) as running:
        paid, retrieved = pasted(running).splitlines()
    assert '"status":"paid"' in paid
    assert f'"merchantName":"{SHOP}"' in paid
    assert '"status":"paid"' in retrieved
    assert '"amount":10098,"currency":"USD"' in retrieved


def test_what_it_prints_can_be_copied_and_holds_every_credential(made: Made) -> None:
    assert re.fullmatch(r"[\x20-\x7e\n]+", made.printed), "no colours, boxes or links when nobody looks"
    demo = made.house.demo()
    assert re.search(rf"http://127\.0\.0\.1:\d+/pay/{demo['payment']} ", made.printed), "where the payment is paid"
    for who in ("operator", "operator2", "operator3", "merchant", "customer", "customer2", "customer3"):
        for what in ("email", "password", "pin", "totpSecret"):
            assert demo[who].get(what, "") in made.printed
    for what in ("apiKey", "testApiKey", "payment", "requestedAccount"):
        assert demo[what] in made.printed


def test_it_says_where_the_shop_that_waits_is_decided_on_and_how_operators_sign_in(made: Made) -> None:
    demo = made.house.demo()
    address = rf"http://127\.0\.0\.1:\d+/operator/businesses/{demo['requestedAccount']} "
    assert re.search(address, made.printed)
    assert re.search(r"sign in at http://127\.0\.0\.1:\d+/operator with e-mail, password and a code", made.printed)
    [command] = re.findall(r"A code without an app +(.+)", made.printed)
    now = pyotp.TOTP(demo["operator"]["totpSecret"]).now
    before = now()
    code = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    assert code in {before, now()}


def test_credentials_are_random(made: Made, empty: House) -> None:
    with empty.serving("demo", until=LAST_LINE):
        one, other = made.house.demo(), empty.demo()
    for who in ("operator", "operator2", "operator3", "merchant", "customer", "customer2", "customer3"):
        assert one[who]["password"] != other[who]["password"]
    assert one["apiKey"] != other["apiKey"]


def test_nothing_it_makes_can_be_opened_by_others_whatever_the_umask(empty: House) -> None:
    with empty.serving("demo", until=LAST_LINE, umask=0):
        modes = {path.name: path.lstat().st_mode & 0o777 for path in empty.folder.iterdir()}
    assert {"demo.json", "secret.key", "qirsh.db"} < set(modes)
    assert set(modes.values()) == {0o600}
    assert empty.folder.stat().st_mode & 0o777 == 0o700


def test_it_has_a_week_of_payments_of_every_kind(made: Made) -> None:
    found = rows(made.house, "SELECT status, currency, note, created_at, updated_at FROM payment")
    statuses = [status for status, *_ in found]
    assert 55 <= len(found) <= 65
    assert statuses.count("paid") > 30
    assert min(statuses.count(status) for status in ("cancelled", "expired", "pending")) >= 5
    assert {currency for _, currency, *_ in found} == set(CURRENCIES)
    notes = "".join(note for _, _, note, *_ in found)
    assert all(letter in notes for letter in "قıe")
    now = time.time_ns() // 1_000_000
    created = [created_at for *_, created_at, _ in found]
    assert now - WEEK_MS - 600_000 < min(created) < now - WEEK_MS + 3_600_000
    assert all(created_at <= updated_at <= now for *_, created_at, updated_at in found)
    assert len({created_at // (WEEK_MS // 7) for created_at in created}) >= 7


def test_its_customers_are_rich_and_a_shop_waits_for_approval(served: tuple[House, Running]) -> None:
    house, running = served
    demo = house.demo()
    for who in ("customer", "customer2"):
        sign_in = {"email": demo[who]["email"], "password": demo[who]["password"]}
        token = running.post("/api/v1/wallet/sessions", sign_in)["data"]["token"]
        items = running.get("/api/v1/wallet/balances", token)["data"]["items"]
        assert {item["currency"] for item in items if item["amount"] >= 1_000_000_00} == set(CURRENCIES)
    waiting = running.get(f"/api/v1/remote-payments/{demo['payment']}", demo["apiKey"])["data"]
    assert (waiting["status"], waiting["livemode"]) == ("pending", True)
    test_payment = running.post("/api/v1/remote-payments", {"amount": 1, "currency": "USD"}, demo["testApiKey"])
    assert re.fullmatch(r"\d{16}", test_payment["data"]["id"])
    assert rows(house, f"SELECT state FROM account WHERE number = {demo['requestedAccount']}") == [("requested",)]  # noqa: S608 - our own


def test_started_again_it_goes_on_with_the_same_credentials_even_after_a_kill(house: House) -> None:
    before = house.demo()
    for _ in range(2):
        with house.serving("demo", until=LAST_LINE) as running:
            assert '"status":"paid"' in pasted(running)
            running.stop(signal.SIGKILL)
        assert house.demo() == before


def test_what_was_tried_is_not_offered_again(house: House) -> None:
    demo = house.demo()
    with house.serving("demo", until=LAST_LINE) as running:
        customer = {name: demo["customer"][name] for name in ("email", "password")}
        token = running.post("/api/v1/wallet/sessions", customer)["data"]["token"]
        path = f"/api/v1/wallet/remote-payments/{demo['payment']}/pay"
        assert running.post(path, {"pin": demo["customer"]["pin"]}, token)["data"]["status"] == "paid"
        approve = house.invoke("account", "approve", demo["requestedAccount"], **house.operator())
        assert approve.returncode == 0, approve.stderr
    with house.serving("demo", until=LAST_LINE) as running:
        again = house.demo()
        assert again["payment"] != demo["payment"]
        assert again["payment"] in running.printed
        assert "/operator/businesses/" not in running.printed
        assert "account approve" not in running.printed
        assert again | {"payment": demo["payment"], "requestedAccount": demo["requestedAccount"]} == demo


def others(player: dict[str, Any]) -> dict[str, Any]:
    return player | {"password": PASSWORD, "pin": PIN}


def change_credentials(house: House, old: dict[str, Any], new: dict[str, Any]) -> None:
    """As the person does on their pages, while the demo rests."""
    email, person = old["email"], old["person"]

    async def change() -> None:
        async with opened(read_settings({"QIRSH_DATA_DIR": str(house.folder)})) as context:
            password = ChangePassword(email, person, await context.passwords.hash(new["password"]), ())
            macs = [context.keyring.pin_macs(person, player["pin"]) for player in (old, new)]
            pin = ChangePin(person, macs[1][0], f"person {person}", old_macs=macs[0])
            for command in (password, pin):
                assert type(await context.engine.submit(command)) is not Refused

    with quick_passwords():
        asyncio.run(change())


def test_a_password_and_a_pin_that_were_changed_are_not_printed_and_the_rest_is(house: House) -> None:
    demo = house.demo()
    change_credentials(house, demo["customer"], others(demo["customer"]))
    with house.serving("demo", until=LAST_LINE) as running:
        # With the other customer, whose credentials are as they were.
        assert '"status":"paid"' in pasted(running)
    assert demo["customer"]["password"] not in running.printed
    assert demo["customer"]["pin"] not in running.printed
    assert "leila@customers.example  password changed since  PIN changed since\n" in running.printed
    for who in ("operator", "operator2", "merchant", "customer2"):
        assert f"{demo[who]['email']}  password {demo[who]['password']}" in running.printed
    told = house.invoke("status", "--env").stdout
    assert "QIRSH_CUSTOMER_EMAIL=" in told
    assert "QIRSH_CUSTOMER_PASSWORD=" not in told
    assert "QIRSH_CUSTOMER_PIN=" not in told
    assert f"QIRSH_CUSTOMER2_PASSWORD={demo['customer2']['password']}" in told


def test_credentials_that_are_as_they_were_again_are_printed_again(house: House) -> None:
    before = house.demo()
    customer = before["customer"]
    change_credentials(house, customer, others(customer))
    with house.serving("demo", until=LAST_LINE):
        assert house.demo()["customer"]["changed"] == ["password", "pin"]
    change_credentials(house, others(customer), customer)
    with house.serving("demo", until=LAST_LINE) as running:
        assert "changed" not in house.demo()["customer"]
    assert customer["password"] in running.printed


def test_without_a_customer_who_could_pay_nothing_is_printed_to_paste(house: House) -> None:
    for who in ("customer", "customer2"):
        change_credentials(house, house.demo()[who], others(house.demo()[who]))
    with house.serving("demo", until="there is nothing to paste") as running:
        assert "curl" not in running.printed


# It says so when it has begun to fill its database, and goes no further.
STANDS_STILL = """
import asyncio
from qirsh.cli.demo import build

async def stand_still(*_):
    print("being made", flush=True)
    await asyncio.Event().wait()

build.add_payment_to_try = stand_still
"""


@contextmanager
def being_made(house: House) -> Iterator[Program]:
    """A demo that has begun to fill its database, and is not done."""
    with house.started("demo", first=STANDS_STILL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "being made\n"
        yield process


def test_killed_while_it_was_being_made_it_begins_again_and_works(empty: House) -> None:
    with being_made(empty) as process:
        process.kill()
        process.communicate()
    assert (empty.folder / WORKSHOP).exists()
    assert not empty.database.exists()
    with empty.serving("demo", until=LAST_LINE) as running:
        assert '"status":"paid"' in pasted(running)
        assert not (empty.folder / WORKSHOP).exists()


def test_ended_while_it_was_being_made_it_ends_well_and_leaves_nothing_half_made(empty: House) -> None:
    with being_made(empty) as process:
        process.terminate()
        printed, complained = process.communicate()
    assert (process.returncode, printed, complained) == (0, "", "")
    assert [path.name for path in empty.folder.iterdir()] == ["qirsh.db.lock"]


def test_killed_between_its_last_two_steps_it_begins_again_with_its_old_secret(house: House) -> None:
    # All is in its place but the database, which comes last.
    house.database.unlink()
    before, secret = house.demo(), (house.folder / "secret.key").read_bytes()
    with house.serving("demo", until=LAST_LINE) as running:
        assert '"status":"paid"' in pasted(running)
    assert house.demo()["apiKey"] != before["apiKey"]
    assert (house.folder / "secret.key").read_bytes() == secret


def test_a_folder_with_a_database_that_is_no_demo_is_refused_and_left_alone(house: House) -> None:
    (house.folder / "demo.json").unlink()
    before = house.database.read_bytes()
    ended = house.run("demo")
    assert ended.returncode == 2
    assert "has a database that is no demo: set QIRSH_DATA_DIR to another folder" in ended.stderr
    assert house.database.read_bytes() == before
    assert not (house.folder / "demo.json").exists()


def test_a_log_without_its_database_is_not_given_to_a_new_one(house: House) -> None:
    house.database.unlink()
    log = house.folder / "qirsh.db-wal"
    log.write_bytes(b"commits of a database that is gone")
    ended = house.run("demo")
    assert ended.returncode == 2
    assert "is there without its database" in ended.stderr
    assert not house.database.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [("{", "is damaged"), (None, "is of another database")],
    ids=["damaged", "of another database"],
)
def test_credentials_that_do_not_fit_the_database_are_told(content: str | None, says: str, house: House) -> None:
    kept = house.folder / "demo.json"
    kept.write_text(content or kept.read_text().replace("samir@", "somebody@"))
    ended = house.run("demo")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr


def test_a_database_elsewhere_is_refused(empty: House, tmp_path: Path) -> None:
    ended = empty.run("demo", QIRSH_DATABASE_URL=f"sqlite:///{tmp_path}/other.db")
    assert ended.returncode == 2
    assert "unset QIRSH_DATABASE_URL" in ended.stderr
    assert not empty.folder.exists()


ANYWHERE = "0.0.0.0"  # noqa: S104 - it is not to listen there


@pytest.mark.parametrize("host", [ANYWHERE, "::"])
def test_it_does_not_listen_where_others_can_reach_it_unless_forced(empty: House, host: str) -> None:
    ended = empty.invoke("demo", QIRSH_HOST=host)
    assert ended.returncode == 2
    assert "shows every mail and code to whoever asks" in ended.stderr
    assert not empty.folder.exists()


def test_forced_it_listens_anywhere(house: House) -> None:
    with house.serving("demo", "--force", until=LAST_LINE, QIRSH_HOST=ANYWHERE) as running:
        assert running.get("/healthz") == {"status": "ok"}


def test_a_port_that_is_taken_is_told_before_anything_is_made(empty: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = empty.run("demo", QIRSH_PORT=str(taken.getsockname()[1]))
    assert ended.returncode == 2
    assert "another program listens on 127.0.0.1" in ended.stderr
    assert not empty.folder.exists()


def test_the_port_option_wins_and_an_address_left_over_from_another_demo_does_not_lead_there(house: House) -> None:
    left_over = "http://127.0.0.1:1"
    with house.serving("demo", "--port", "0", until=LAST_LINE, QIRSH_PORT="1", QIRSH_BASE_URL=left_over) as running:
        assert '"status":"paid"' in pasted(running)
        assert f"QIRSH_BASE_URL={running.url}\n" in house.run("status", "--env").stdout
    with house.serving("demo", until=LAST_LINE, QIRSH_BASE_URL=left_over) as running:
        assert '"status":"paid"' in pasted(running)


def test_its_mails_are_read_where_it_says_unless_they_are_sent(house: House) -> None:
    with house.serving("demo", until=LAST_LINE) as running:
        assert f"{running.url}/demo/mail" in running.printed
        with urllib.request.urlopen(f"{running.url}/demo/mail") as answer:  # noqa: S310 - our own
            assert "Demo mailbox" in answer.read().decode()
    server, sender = "smtp://127.0.0.1:1", "pay@example.org"
    with house.serving("demo", until=LAST_LINE, QIRSH_SMTP_URL=server, QIRSH_MAIL_FROM=sender) as running:
        assert "/demo/mail" not in running.printed
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{running.url}/demo/mail")  # noqa: S310 - our own
