"""A standby that commits do not wait for: what it has not heard of when it takes over is lost, though acknowledged.

This is why several machines are to be run with a quorum. Here it is seen that the loss is real, and noticed.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from qirsh.setting_values import PostgresUrl
from tests.database import database_at
from tests.faults.history import Operation
from tests.faults.served import scratch_folder
from tests.faults.several import FoundedDatabase, Several
from tests.line import Answer, Line, until_answered
from tests.line_to_database import LineBeside
from tests.live import Customer, Merchant, pay, refused, retrieve
from tests.postgres import PostgresServer, server
from tests.standby import several as several_hosts
from tests.standby import standby_of
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

_AMOUNT: Final = 100


class Pair(NamedTuple):
    """A primary, and a standby that follows it over a line of its own."""

    primary: PostgresServer
    standby: PostgresServer
    line: LineBeside
    founded: FoundedDatabase

    def wait_for_standby(self) -> None:
        """Until it has all that there is."""
        end = self.primary.sql("SELECT pg_current_wal_lsn()")
        follows = f"SELECT pg_last_wal_replay_lsn() >= '{end}'"
        wait_until(lambda: self.standby.sql(follows) == "t")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with server() as primary, LineBeside(primary.url()) as line:
        founded = FoundedDatabase(primary)
        with standby_of(primary, line.address) as standby:
            yield Pair(primary, standby, line, founded)


def test_a_standby_that_was_behind_takes_over_without_what_was_acknowledged(pair: Pair) -> None:
    name, folder = pair.founded.name, scratch_folder()
    address = several_hosts(name, pair.primary, pair.standby)
    with folder as place, Several(pair.founded, place, pair.primary.url(name), address, address) as several:
        history, merchant, customer = several.history, several.merchants[0], several.customers[0]
        kept = several.run(_paid(several, merchant, customer))
        waiting = several.payment(merchant)
        pair.wait_for_standby()
        had = several.balance(customer)
        pair.line.falls_silent()
        first = len(history.operations)
        lost = several.run(_paid(several, merchant, customer))
        assert several.balance(customer) == had - _AMOUNT
        several.database.close()
        pair.primary.crash()
        assert pair.standby.sql("SELECT pg_promote()") == "t"
        several.database = database_at(PostgresUrl(pair.standby.url(name)))
        assert history.lost() == history.operations[first:]
        for number in range(len(several.places)):
            assert several.run(_answered(several, number, merchant, kept)).data["status"] == "paid"
            assert several.run(_answered(several, number, merchant, lost)).status == 404
        assert several.balance(customer) == had, "what was spent is back"
        stopped = "SELECT reason FROM stop WHERE lifted_at IS NULL"
        wait_until(lambda: "was set back" in pair.standby.sql(stopped, name))
        refused(several.send(pay(customer, waiting)), 503, "money_stopped")


async def _paid(several: Several, merchant: Merchant, customer: Customer) -> Operation:
    """A payment that its merchant and its payer were told is paid."""
    async with Line(several.ports[0]) as line:
        created = several.history.create(merchant, _AMOUNT)
        await created.send(line)
        paid = several.history.pay(customer, created)
        await paid.send(line)
    assert (created.outcome, paid.outcome) == ("ok", "ok")
    return created


async def _answered(several: Several, number: int, merchant: Merchant, of: Operation) -> Answer:
    """What a server says of a payment, once it has found the database again."""

    async def said() -> Answer | None:
        async with Line(several.ports[number]) as line:
            answer = await line.ask(retrieve(merchant.key, of.payment_id))
        return None if answer.status == 503 else answer

    return await until_answered(said)
