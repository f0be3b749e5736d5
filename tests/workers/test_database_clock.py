"""Where several machines share a database, its clock counts: for what is decided, what is due, and what is late."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.service import opened
from qirsh.settings import read_settings
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request
from qirsh.web.server.health import show_readiness
from qirsh.workers.payment_expirer import PaymentExpirer
from tests.live import in_process
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, filled_on

_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_BETWEEN_LOOKS_MS: Final = 60_000
_ASKED: Final = CreatePayment(merchant=FILLED.shop, amount=1, currency="USD", expires_in_ms=_HOUR_MS)
Turn = Callable[[int], None]


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database(filled_on(postgres)) as url:
        # It is served with a secret of its own, as if for the first time.
        forget = "SET session_replication_role = replica; DELETE FROM constant WHERE name = 'secret_check'"
        postgres.sql(forget, url.rpartition("/")[2])
        yield url


@pytest.fixture
def turn(postgres: PostgresServer, url: str) -> Turn:
    """Sets the database's clock so many milliseconds apart from the machine's, for what connects from now on."""
    name = url.rpartition("/")[2]
    postgres.sql(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")

    def turned(by_ms: int) -> None:
        postgres.sql(
            "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            f" $$ SELECT pg_catalog.clock_timestamp() + interval '{by_ms} milliseconds' $$",
            name,
        )

    return turned


def played(url: str, folder: Path, scene: Callable[[Context], Any]) -> None:
    """A service with the system's clock, as it is served."""

    async def play() -> None:
        told = {"QIRSH_DATA_DIR": str(folder), "QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": secrets.token_hex(32)}
        async with opened(read_settings(told)) as context:
            await scene(context)

    asyncio.run(play())


async def readiness(context: Context) -> tuple[int, bytes]:
    answer = await show_readiness(context, Request("id", "GET", "/readyz", b"", {}, b"", "127.0.0.1"))
    return answer.status, answer.body


@pytest.mark.parametrize("by_ms", [_DAY_MS, -_DAY_MS])
def test_what_is_decided_is_decided_by_the_database_s_clock(turn: Turn, url: str, tmp_path: Path, by_ms: int) -> None:
    turn(by_ms)

    async def scene(context: Context) -> None:
        created = await context.engine.submit(_ASKED)
        assert isinstance(created, Payment)
        now = time.time_ns() // 1_000_000 + by_ms
        assert abs(created.created_at - now) < _BETWEEN_LOOKS_MS
        assert abs(await context.store.now() - now) < _BETWEEN_LOOKS_MS

    played(url, tmp_path, scene)


def test_what_is_due_by_the_database_s_clock_expires_and_is_late(turn: Turn, url: str, tmp_path: Path) -> None:
    turn(_DAY_MS)

    async def scene(context: Context) -> None:
        created = await context.engine.submit(_ASKED)
        assert isinstance(created, Payment)
        expirer = PaymentExpirer(context.store, context.engine)
        assert await expirer.expire_due() == 0
        assert (await readiness(context))[0] == 200
        turn(_DAY_MS + 2 * _HOUR_MS)
        status, body = await readiness(context)
        assert (status, b"the expiry worker is more than 10 seconds behind" in body) == (503, True)
        assert await expirer.expire_due() == 1
        assert (await readiness(context))[0] == 200
        found = await context.store.find(Tables.payments, created.number)
        assert found is not None
        assert found.status == "expired"

    played(url, tmp_path, scene)


def test_what_is_due_by_the_machine_s_clock_alone_is_neither_due_nor_late(turn: Turn, url: str, tmp_path: Path) -> None:
    turn(-_DAY_MS)

    async def scene(context: Context) -> None:
        await context.engine.submit(_ASKED)
        assert await PaymentExpirer(context.store, context.engine).expire_due() == 0
        assert (await readiness(context))[0] == 200

    played(url, tmp_path, scene)


def test_a_service_whose_payments_do_not_expire_is_not_ready(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=1) as world:
        world.payment(world.merchants[0], expiresIn=300)
        world.clock.now += 300_000 + 10_000 - 1
        assert world.run(readiness(world.context))[0] == 200
        world.clock.now += 2
        status, body = world.run(readiness(world.context))
        assert (status, b"the expiry worker is more than 10 seconds behind" in body) == (503, True)
        assert world.expire_due() == 1
        assert world.run(readiness(world.context))[0] == 200
