"""Owner and accountants hear once, on the first of a month, that the statement of the month before is there."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import astuple

from qirsh.domain.commands.shop_settings import SetTimeZone
from qirsh.domain.commands.staff import AcceptInvitation, InviteMember
from qirsh.domain.refusal import granted
from qirsh.domain.staff import Role
from qirsh.domain.tables import Tables
from qirsh.workers import statement_notifier
from qirsh.workers.shop_owner import OwnerMail
from qirsh.workers.statement_notifier import StatementNotifier
from tests.live import Customer, InProcess, Merchant, in_process
from tests.mailbox import mails
from tests.postgres import PostgresServer
from tests.restored import restore

BASE_URL: Final = "https://pay.example"
HOUR_MS: Final = 3_600_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=2, people=1) as held:
        held.change(has_mail=True, time_zone=ZoneInfo("UTC"))
        yield held


def at(world: InProcess, *moment: int, zone: str = "UTC") -> None:
    """Let it be then."""
    wanted = int(datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp()) * 1000  # type: ignore[misc,arg-type]
    assert wanted >= world.now_ms()
    world.clock.advance(wanted - world.now_ms())


def notifier(world: InProcess) -> StatementNotifier:
    context = world.context
    mail = OwnerMail(context.store, context.keyring, context.entropy, BASE_URL)
    return StatementNotifier(context.store, context.engine, context.clock, mail, context.time_zone)


def tell(world: InProcess) -> list[tuple[Any, ...]]:
    """One look; all that was ever told: to whom, in which language, and in which words."""
    world.run(notifier(world).tell())
    return [astuple(mail) for mail in mails(world) if mail.kind == "statement_ready"]


def buy(world: InProcess, shop: Merchant) -> None:
    world.paid(shop, world.anew(world.customers[0]), amount=500)


def owner_of(world: InProcess, shop: Merchant) -> int:
    account = world.run(world.context.store.find(Tables.accounts, int(shop.account)))
    assert account is not None
    assert account.owner is not None
    return account.owner


def join(world: InProcess, shop: Merchant, role: Role) -> Customer:
    person = world.person(verified=True)
    login = world.run(world.context.store.find(Tables.logins, person.email))
    assert login is not None
    invitation = f"inv_{person.account}"
    invite = InviteMember(invitation, int(shop.account), person.email, role, {}, owner_of(world, shop))
    granted(world.run(world.context.engine.submit(invite)))
    granted(world.run(world.context.engine.submit(AcceptInvitation(invitation, login.person))))
    return person


@pytest.mark.both_engines
def test_owner_and_accountants_are_told_once_in_the_morning_of_the_first(world: InProcess) -> None:
    shop = world.merchants[0]
    accountant = join(world, shop, "accountant")
    join(world, shop, "manager")
    at(world, 2027, 3, 10)
    assert tell(world) == []
    buy(world, shop)
    at(world, 2027, 3, 31, 23, 59)
    assert tell(world) == []
    at(world, 2027, 4, 1, 5, 59)
    assert tell(world) == []
    at(world, 2027, 4, 1, 6)
    words = {"name": "Shop", "url": f"{BASE_URL}/business/{shop.account}/statements", "month": "March 2027"}
    told = [(email, "en", "statement_ready", words) for email in (shop.email, accountant.email)]
    assert sorted(tell(world)) == sorted(told)
    assert sorted(tell(world)) == sorted(told)
    at(world, 2027, 4, 20)
    assert sorted(tell(world)) == sorted(told)


def test_a_month_without_a_movement_is_passed_by(world: InProcess) -> None:
    shop = world.merchants[0]
    at(world, 2027, 3, 10)
    buy(world, shop)
    at(world, 2027, 4, 1, 12)
    assert len(tell(world)) == 1
    at(world, 2027, 5, 1, 12)
    assert len(tell(world)) == 1
    buy(world, shop)
    at(world, 2027, 6, 2)
    assert [told[-1]["month"] for told in tell(world)] == ["March 2027", "May 2027"]


def test_the_month_is_that_of_the_business(world: InProcess) -> None:
    shop = world.merchants[0]
    zone = "Pacific/Auckland"
    granted(world.run(world.context.engine.submit(SetTimeZone(int(shop.account), zone, owner_of(world, shop)))))
    at(world, 2027, 4, 1, 1, zone=zone)  # Still March elsewhere.
    buy(world, shop)
    at(world, 2027, 4, 1, 12, zone=zone)
    assert tell(world) == []
    at(world, 2027, 5, 1, 6, zone=zone)
    assert [told[-1]["month"] for told in tell(world)] == ["April 2027"]


@pytest.mark.both_engines
def test_of_two_who_look_at_once_one_tells(world: InProcess) -> None:
    at(world, 2027, 3, 10)
    for shop in world.merchants[:2]:
        buy(world, shop)
    at(world, 2027, 4, 1, 6)

    async def both() -> None:
        await asyncio.gather(*(notifier(world).tell() for _ in range(3)))

    world.run(both())
    assert len(tell(world)) == 2


def test_a_suspended_business_hears_when_it_is_resumed(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_notifier, "STATEMENTS_TOLD_AT_ONCE", 1)
    shop, other = world.merchants[:2]
    at(world, 2027, 3, 10)
    for one in (shop, other):
        buy(world, one)
    world.act("account suspend", account=shop.account)
    at(world, 2027, 4, 1, 6)
    assert [told[0] for told in tell(world)] == [other.email]
    world.act("account resume", account=shop.account)
    assert sorted(told[0] for told in tell(world)) == sorted([shop.email, other.email])


def test_of_a_month_that_was_over_before_a_restore_nobody_is_told_after_it(world: InProcess) -> None:
    shop = world.merchants[0]
    buy(world, shop)
    at(world, 2027, 2, 2)
    restore(world)
    world.change(has_mail=True, time_zone=ZoneInfo("UTC"))
    assert tell(world) == []
    world.agree("audit lift")
    buy(world, shop)
    at(world, 2027, 3, 1, 7)
    assert len(tell(world)) == 1
