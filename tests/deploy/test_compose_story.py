"""One machine by the steps of deploy/compose/postgres.yaml: from its first hour to an upgrade, and a bad night."""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from qirsh.settings import read_settings
from tests.cli.program import proof
from tests.deploy.caddy import CADDY, Caddy, caddy
from tests.deploy.compose_steps import (
    OWN,
    Container,
    composed,
    environment_of,
    make_database,
    make_secrets,
    write_secret,
)
from tests.deploy.prometheus_server import prometheus
from tests.drill.shop import CallRefused, Shop
from tests.live import PASSWORD, PIN, InProcess, free_port
from tests.postgres import PostgresServer, server
from tests.store.next_version import NEXT, next_version
from tests.waiting import wait_until
from tests.workers.post_office import post_office

CUSTOMER: Final = "emre@mail.example"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path(CADDY).exists(), reason="NOT TESTED: the story of Compose, since Debian's caddy is not installed"
    ),
]


class Machine(NamedTuple):
    """With its secrets, PostgreSQL, the containers of the service and of the backup, and Caddy in front."""

    folder: Path
    secrets: Path
    postgres: PostgresServer
    service: Container
    backup: Container
    front: Caddy

    @property
    def port(self) -> int:
        """Of the service itself, inside of the network."""
        return int(self.service.told["QIRSH_PORT"])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Its path is short, since it holds a socket."""
    with tempfile.TemporaryDirectory(prefix="q-") as name, post_office() as office, server() as postgres:
        folder, port, inside = Path(name), free_port(), free_port()
        secrets = make_secrets(folder, f"smtp://127.0.0.1:{office.port}")
        write_secret(secrets / "database_url", make_database(postgres, secrets))
        # A free port, and loopback where Compose has a network.
        here = {
            "QIRSH_PORT": str(inside),
            "QIRSH_BASE_URL": f"https://localhost:{port}",
            "QIRSH_TRUSTED_PROXIES": "127.0.0.1",
        }
        service, backup = (
            Container(environment_of("postgres.yaml", one, OWN, secrets) | here, folder / "data")
            for one in ("qirsh", "backup")
        )
        (folder / "caddy").mkdir()
        with caddy(folder / "caddy", f"127.0.0.1:{inside}", port) as front:
            monkeypatch.setenv("SSL_CERT_FILE", str(front.authority))
            yield Machine(folder, secrets, postgres, service, backup, front)


def two_operators(machine: Machine) -> tuple[dict[str, str], dict[str, str]]:
    """Who have been it for a week: the first day was then, by a clock of its own."""
    with InProcess(read_settings(machine.service.told), lambda: time.time_ns() // 1_000_000) as first_day:
        first_day.settle(shops=0, people=0)
        first, second = (
            proof({"email": one.email, "password": PASSWORD, "totpSecret": one.totp_secret})
            for one in first_day.operators
        )
    return first, second


def merchant_and_customer(service: Container, first: dict[str, str], second: dict[str, str]) -> dict[str, Any]:
    """A shop with a key, and somebody with money, by the commands of operators."""

    def person(email: str, name: str) -> str:
        words = ("person", "add", "--email", email, "--name", name, "--password-stdin", "--pin-stdin")
        account: str = service.act(*words, stdin=f"{PASSWORD}\n{PIN}\n", **first)["account"]
        service.act("account", "verify", account, **first)
        return account

    shop = service.act("account", "request", person("layla@mail.example", "Layla"), "--name", "Books", **first)[
        "account"
    ]
    service.act("account", "approve", shop, "--reason", "papers seen", **second)
    key = service.act("key", "issue", shop, **first)["key"]
    slip = ("--reference", "FT-1001")
    service.act("deposit", "ask", person(CUSTOMER, "Emre"), "100.00", "USD", *slip, **first)
    service.act("deposit", "confirm", *slip, **second)
    return {"apiKey": key, "customer": {"email": CUSTOMER, "password": PASSWORD, "pin": PIN}}


def backup_taken(machine: Machine) -> Path:
    """By the words of the container that does it each day."""
    [loop] = composed("postgres.yaml")["services"]["backup"]["command"]
    [words] = re.findall(r"if qirsh (backup [^;]+);", loop)
    machine.backup.execute(*words.replace("/data/", f"{machine.backup.data}/").split())
    [file] = (machine.backup.data / "backups").glob("qirsh-*Z.jsonl.gz")
    return file


def test_a_machine_from_its_first_hour_to_an_upgrade_and_a_bad_night(machine: Machine) -> None:
    service, url = machine.service, machine.service.told["QIRSH_BASE_URL"]
    first, second = two_operators(machine)
    (service.data / "backups").mkdir()
    with service.up():
        known = merchant_and_customer(service, first, second)
        shop = Shop(url, known)
        before = shop.paid(12_50)
        assert shop.status(before) == "paid"
        file = backup_taken(machine)
        after = shop.paid(12_50)

    # Elsewhere: another machine with SQLite, which has the file and the secret key.
    elsewhere = Container(environment_of("sqlite.yaml", "qirsh", OWN, machine.secrets), machine.folder / "elsewhere")
    port = free_port()
    elsewhere.told |= {"QIRSH_PORT": str(port), "QIRSH_BASE_URL": f"http://127.0.0.1:{port}"}
    elsewhere.execute("restore", str(file))
    elsewhere.execute("verify")
    with elsewhere.up(is_ready=False):
        restored = Shop(elsewhere.told["QIRSH_BASE_URL"], known)
        assert restored.status(before) == "paid"
        with pytest.raises(CallRefused, match="404"):
            restored.status(after)
        with pytest.raises(CallRefused, match="money_stopped"):
            restored.paid(12_50)
    assert "money stands still: restored to " in (machine.folder / "elsewhere.log").read_text()

    # The next version, whose start migrates.
    (machine.folder / "next").mkdir()
    service.source = next_version(machine.folder / "next")
    with (
        service.up(),
        prometheus(machine.folder, (machine.secrets / "metrics_token").read_text().strip(), machine.port) as scraper,
    ):
        assert machine.postgres.sql("SELECT max(number) FROM schema_migration", "qirsh") == str(NEXT.number)
        shop = Shop(url, known)
        assert [shop.status(payment) for payment in (before, after, shop.paid(12_50))] == ["paid"] * 3
        service.execute("verify")

        # The night: PostgreSQL ends, somebody is woken, and it is back.
        wait_until(lambda: scraper.healthy() == 1)
        wait_until(lambda: scraper.evaluated() > 30)
        assert "QirshDatabaseAway" not in scraper.firing()
        machine.postgres.stop()
        try:
            wait_until(lambda: scraper.firing().get("QirshDatabaseAway") == "page")
            with pytest.raises(CallRefused, match="unavailable"):
                shop.create(1)
        finally:
            assert machine.postgres.start()
        wait_until(lambda: "QirshDatabaseAway" not in scraper.firing())
        wait_until(lambda: "page" not in scraper.firing().values())
        assert shop.status(shop.paid(12_50)) == "paid"
    assert not [line for line in (machine.folder / "data.log").read_text().splitlines() if "Traceback" in line]
