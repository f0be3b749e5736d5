"""The summary of some days: exact to the moment, in the days of the merchant's zone, proved or not given."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from qirsh.domain.business import Business
from qirsh.domain.commands.shop_settings import SetTimeZone
from qirsh.domain.limits import REPORT_DAYS_MAX
from qirsh.domain.tables import Tables
from qirsh.domain.total import QUARTER_MS
from qirsh.store.reads import totals
from qirsh.workers.sealer import Sealer
from qirsh.workers.totaler import Totaler
from tests.live import Call, Customer, InProcess, create, field_errors, in_process, refund, refused, trial
from tests.postgres import PostgresServer

SUMMARY: Final = "/api/v1/reports/summary"
DAY_MS: Final = 24 * 3600 * 1000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as made:
        made.change(time_zone=ZoneInfo("UTC"))
        yield made


def asked(world: InProcess, query: str, key: str = "") -> Call:
    return Call("GET", f"{SUMMARY}?{query}", key or world.merchants[0].key)


def summary(world: InProcess, first: int = 0, last: int = 0, *, key: str = "", currency: str = "USD") -> dict[str, Any]:
    """From so many days after today to so many."""
    return world.data(asked(world, f"currency={currency}&from={day(world, first)}&to={day(world, last)}", key))


def day(world: InProcess, number: int = 0) -> str:
    """So many days after today, in UTC."""
    return (datetime.fromtimestamp(world.now_ms() // 1000, UTC).date() + timedelta(days=number)).isoformat()


def later(world: InProcess, passed_ms: int) -> Customer:
    """The customer, who has to sign in again by then."""
    world.clock.advance(passed_ms)
    return world.anew(world.customers[0])


async def counted(world: InProcess) -> None:
    sealer = Sealer(world.context.store, world.context.engine, world.context.clock)
    await sealer.seal_settled()
    await sealer.seal_settled()
    worker = Totaler(world.context.store, world.context.engine)
    while await worker.count():
        pass


@pytest.mark.both_engines
@pytest.mark.parametrize("is_counted", [False, True])
def test_a_summary_leads_from_the_opening_to_the_closing_balance(world: InProcess, is_counted: bool) -> None:  # noqa: FBT001
    [merchant] = world.merchants
    customer = later(world, DAY_MS - world.now_ms() % DAY_MS + DAY_MS // 2)
    world.paid(merchant, customer, amount=700)
    customer = later(world, DAY_MS)
    payment = world.paid(merchant, customer, amount=500)
    world.data(refund(merchant.key, payment, amount=30))
    world.deposit(merchant.account, 90)
    world.withdraw(merchant.account, 60)
    if is_counted:
        world.run(counted(world))
    assert summary(world) == {
        "currency": "USD",
        "from": day(world),
        "to": day(world),
        "timeZone": "UTC",
        "opening": 700,
        "taken": 500,
        "refunded": 30,
        "fees": 0,
        "paidOut": 60,
        "paidIn": 90,
        "corrected": 0,
        "closing": 1200,
        "takenCount": 1,
        "refundedCount": 1,
        "feesCount": 0,
        "paidOutCount": 1,
        "paidInCount": 1,
        "correctedCount": 0,
        "livemode": True,
    }
    both = summary(world, -1)
    assert (both["opening"], both["taken"], both["takenCount"], both["closing"]) == (0, 1200, 2, 1200)
    assert summary(world, 1, 3)["opening"] == summary(world, 1, 3)["closing"] == 1200
    assert summary(world, currency="SYP")["closing"] == 0


def test_days_are_those_of_the_zone(world: InProcess) -> None:
    [merchant] = world.merchants
    zone = ZoneInfo("Asia/Kathmandu")  # At 18:15 UTC the next day begins there.
    world.change(time_zone=zone)
    customer = later(world, 2 * DAY_MS - world.now_ms() % DAY_MS + 18 * 3_600_000 + QUARTER_MS - 1)
    today = day(world)
    world.paid(merchant, customer, amount=1)
    world.clock.advance(1)
    world.paid(merchant, customer, amount=20)
    for is_counted in (False, True):
        if is_counted:
            world.run(counted(world))
        found = [summary(world, number, number) for number in (0, 1)]
        assert [each["taken"] for each in found] == [1, 20]
        assert (found[0]["from"], found[0]["timeZone"]) == (today, "Asia/Kathmandu")


def test_the_zone_is_the_business_s_own_where_it_has_one(world: InProcess) -> None:
    [merchant] = world.merchants

    async def told() -> object:
        login = await world.context.store.find(Tables.logins, merchant.email)
        assert login is not None
        return await world.context.engine.submit(SetTimeZone(int(merchant.account), "Asia/Kathmandu", login.person))

    assert type(world.run(told())) is Business
    for key in (merchant.key, merchant.test_key):
        assert summary(world, key=key)["timeZone"] == "Asia/Kathmandu"


def test_a_test_key_sees_test_money_only(world: InProcess) -> None:
    [merchant], [customer] = world.merchants, world.customers
    world.paid(merchant, customer, amount=700)
    world.data(trial(merchant.test_key, "pay", world.data(create(merchant.test_key, amount=5))["id"]))
    found = summary(world, key=merchant.test_key)
    assert (found["taken"], found["livemode"]) == (5, False)
    assert summary(world)["taken"] == 700


WRONG_QUERIES: Final = [
    ("", {"currency": "required", "from": "required", "to": "required"}),
    ("currency=USD&from=2026-03-01", {"to": "required"}),
    ("currency=XXX&from=2026-03-01&to=2026-03-01", {"currency": "unknown_value"}),
    ("currency=USD&from=2026-02-30&to=2026-03-01", {"from": "invalid"}),
    ("currency=USD&from=2026-3-1&to=20260301", {"from": "invalid", "to": "invalid"}),
    ("currency=USD&from=2026-W09-1&to=2026-03-01", {"from": "invalid"}),
    ("currency=USD&from=1969-12-31&to=9999-12-31", {"from": "invalid", "to": "invalid"}),
    ("currency=USD&from=\u0662\u0660\u0662\u0666-03-01&to=2026-03-01", {"from": "invalid"}),
    ("currency=USD&from=2026-03-02&to=2026-03-01", {"to": "out_of_range"}),
    ("currency=USD&from=2026-01-01&to=2027-01-02", {"to": "out_of_range"}),
    ("currency=USD&from=2026-03-01&to=2026-03-01&limit=5", {"limit": "unknown_parameter"}),
    ("currency=USD&from=2026-03-01&to=2026-03-01&to=2026-03-01", {"to": "repeated"}),
]


def test_what_is_wrong_with_the_days_is_named(world: InProcess, subtests: pytest.Subtests) -> None:
    for query, errors in WRONG_QUERIES:
        with subtests.test(query):
            quoted = "".join(
                letter if letter.isascii() else "".join(f"%{one:02X}" for one in letter.encode()) for letter in query
            )
            answer = world.send(asked(world, quoted))
            refused(answer, 422, "validation_failed")
            assert field_errors(answer) == errors


def test_a_leap_year_fits(world: InProcess) -> None:
    assert summary(world, 1 - REPORT_DAYS_MAX)["closing"] == 0
    refused(world.send(asked(world, "currency=USD&from=2024-01-01&to=2025-01-01")), 422, "validation_failed")
    assert world.data(asked(world, "currency=USD&from=2024-01-01&to=2024-12-31"))["closing"] == 0


def test_a_summary_that_the_ledger_does_not_agree_with_is_not_given(
    world: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    [merchant], [customer] = world.merchants, world.customers
    world.paid(merchant, customer, amount=700)
    world.run(counted(world))
    world.database.meddle("account_total", "UPDATE account_total SET taken = taken + 1")
    told = refused(world.send(asked(world, f"currency=USD&from={day(world)}&to={day(world)}")), 503, "unavailable")
    assert told["detail"].startswith("The totals of these days do not agree with the ledger")
    assert [record.levelname for record in caplog.records if "is wrong" in record.getMessage()] == ["CRITICAL"]


def test_while_much_is_not_counted_yet_nobody_waits_for_it(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "_FEW", 1)
    monkeypatch.setattr(totals, "TOTALLED_AT_ONCE", 1)
    monkeypatch.setattr(totals, "TOTALS_BEHIND_MAX", 2)
    [merchant], [customer] = world.merchants, world.customers
    for _ in range(3):
        world.paid(merchant, customer, amount=1)
    told = refused(world.send(asked(world, f"currency=USD&from={day(world)}&to={day(world)}")), 503, "unavailable")
    assert "still being counted" in told["detail"]
    monkeypatch.undo()
    assert summary(world)["taken"] == 3
