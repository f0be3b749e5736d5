"""Owners hear once, two weeks before, that a key ends."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec.structs import astuple

from qirsh.domain.commands.account import RevokeKey, RotateKey
from qirsh.domain.limits import KEY_END_TOLD_MS
from qirsh.domain.tables import Tables
from qirsh.workers.key_notifier import KeyNotifier
from qirsh.workers.shop_owner import OwnerMail
from tests.live import InProcess, Merchant, in_process
from tests.mailbox import mails
from tests.postgres import PostgresServer
from tests.restored import restore

BASE_URL: Final = "https://pay.example"
DAY_MS: Final = 24 * 3_600_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=0) as held:
        held.change(has_mail=True)
        yield held


@pytest.fixture
def shop(world: InProcess) -> Merchant:
    return world.merchants[0]


def tell(world: InProcess) -> int:
    context = world.context
    mail = OwnerMail(context.store, context.keyring, context.entropy, BASE_URL)
    return world.run(KeyNotifier(context.store, context.engine, context.clock, mail).tell())


def told(world: InProcess) -> list[tuple[Any, ...]]:
    """To whom, in which language, which letter, and its words."""
    return [astuple(mail) for mail in mails(world) if mail.kind == "key_ends"]


def issue(world: InProcess, shop: Merchant, days: int, *, test: bool = False) -> str:
    return str(world.act("key issue", account=shop.account, expiresInDays=days, test=test, name="Till")["id"])


@pytest.mark.both_engines
def test_an_owner_is_told_two_weeks_before_and_once(world: InProcess, shop: Merchant) -> None:
    key_id = issue(world, shop, 30)
    key = world.run(world.context.store.find(Tables.api_keys, key_id))
    assert key is not None
    assert tell(world) == 0
    world.clock.advance(30 * DAY_MS - KEY_END_TOLD_MS - 1)
    assert tell(world) == 0
    world.clock.advance(1)
    assert [tell(world), tell(world)] == [1, 0]
    words = {
        "name": "Shop",
        "key": f"Till …{key.hint}",
        "at": key.expires_at,
        "url": f"{BASE_URL}/business/{shop.account}/keys",
    }
    assert told(world) == [(shop.email, "en", "key_ends", words)]


def test_a_key_of_the_test_account_is_told_of_as_such(world: InProcess, shop: Merchant) -> None:
    issue(world, shop, 15, test=True)
    world.clock.advance(DAY_MS)
    assert tell(world) == 1
    [(_, _, _, words)] = told(world)
    assert words["name"] == "Shop (test account)"
    assert words["url"] == f"{BASE_URL}/business/{shop.test_account}/keys"


def test_nobody_is_told_of_a_key_that_was_made_for_less(world: InProcess, shop: Merchant) -> None:
    issue(world, shop, 14)
    assert [tell(world), tell(world)] == [1, 0]
    assert told(world) == []


def test_nobody_is_told_of_keys_that_were_revoked_or_replaced_or_have_ended(world: InProcess, shop: Merchant) -> None:
    revoked, replaced, _ = (issue(world, shop, days) for days in (20, 20, 15))
    live = world.run(world.context.store.find(Tables.accounts, int(shop.account)))
    assert live is not None
    assert live.owner is not None
    rotate = RotateKey(
        id="key_" + "0" * 18,
        account=live.number,
        old=replaced,
        hash=b"n" * 32,
        hint="next",
        overlap_ms=7 * DAY_MS,
        actor="test",
        member=live.owner,
    )
    for command in (RevokeKey(revoked, "test"), rotate):
        world.run(world.context.engine.submit(command))
    assert tell(world) == 0
    world.clock.advance(15 * DAY_MS)
    assert tell(world) == 1  # The one that has taken the other's place.
    [(_, _, _, words)] = told(world)
    assert words["key"] == "Till …next"


def test_an_end_that_was_to_be_told_before_a_restore_is_not_told_after_it(world: InProcess, shop: Merchant) -> None:
    issue(world, shop, 30)
    issue(world, shop, 60)
    world.clock.advance(30 * DAY_MS - KEY_END_TOLD_MS + 1)
    restore(world)
    assert [tell(world), tell(world)] == [1, 0]
    assert told(world) == []
    world.clock.advance(30 * DAY_MS)
    assert tell(world) == 1
    assert len(told(world)) == 1
