"""Owners hear once that an endpoint fails, was stopped and works again, in their language."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain.commands.person import ChangeProfile
from qirsh.domain.commands.webhook import (
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    TellWebhookOwner,
    UpdateWebhookEndpoint,
)
from qirsh.domain.limits import WEBHOOK_FAILING_TOLD_MS, WEBHOOK_FAILURES_MAX
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, WebhookResult
from qirsh.workers import webhook_notifier
from qirsh.workers.shop_owner import OwnerMail
from qirsh.workers.webhook_notifier import WebhookNotifier
from tests.live import InProcess, Merchant, create, in_process, trial
from tests.mailbox import mails
from tests.postgres import PostgresServer
from tests.workers.webhooks import Hooks, Shelf

BASE_URL: Final = "https://pay.example"
ADDRESS: Final = "shop.example/hooks"
Mail = tuple[str, str, str, dict[str, str | int]]


class Desk:
    """An endpoint of a shop whose events have happened, and the worker that tells of it."""

    def __init__(self, world: InProcess, shop: Merchant) -> None:
        self.world = world
        self.shop = shop
        self.account = int(shop.account)
        self.endpoint = self.made(shop)
        self.happen()

    def happen(self) -> None:
        """Enough that it rests if all of them fail."""
        self.first = self.queue.next
        for _ in range(WEBHOOK_FAILURES_MAX):
            self.world.run(Hooks(self.world, Shelf()).cancelled(self.shop))

    def made(self, shop: Merchant) -> str:
        endpoint = self.world.run(Hooks(self.world, Shelf()).endpoint(shop, "/hooks", port=1))
        account = int(shop.account)
        self.submit(UpdateWebhookEndpoint(endpoint, account, "test", url=f"https://{ADDRESS}?token=secret"))
        return endpoint

    def submit(self, command: Any) -> Any:  # noqa: ANN401 - as the engine has it
        return self.world.run(self.world.context.engine.submit(command))

    @property
    def queue(self) -> WebhookQueue:
        found = self.world.run(self.world.context.store.find(Tables.webhook_queues, self.endpoint))
        assert found is not None
        return found

    @property
    def row(self) -> WebhookEndpoint:
        found = self.world.run(self.world.context.store.find(Tables.webhook_endpoints, self.endpoint))
        assert found is not None
        return found

    def tried(self, sequence: int, status: int) -> None:
        result = WebhookResult(
            endpoint=self.endpoint,
            sequence=sequence,
            at=self.world.now_ms(),
            took_ms=1,
            status=status,
            reason="" if status == 200 else "status",
        )
        self.submit(RecordWebhookResults((result,), ((self.endpoint, self.first + WEBHOOK_FAILURES_MAX, ""),)))

    def fail(self) -> int:
        """Until it rests; since when."""
        for number in range(WEBHOOK_FAILURES_MAX):
            self.world.clock.advance(1)
            self.tried(self.first + number, 500)
        assert self.queue.resting_since is not None
        return self.queue.resting_since

    def fail_on(self) -> None:
        """Until it is stopped."""
        while self.row.state == "enabled":
            due_at = self.queue.due_at
            assert due_at is not None
            self.world.clock.advance(max(1, due_at - self.world.now_ms()))
            self.tried(self.first, 500)

    def worker(self) -> WebhookNotifier:
        context = self.world.context
        mail = OwnerMail(context.store, context.keyring, context.entropy, BASE_URL)
        return WebhookNotifier(context.store, context.engine, context.clock, mail)

    def tell(self) -> int:
        return self.world.run(self.worker().tell())

    def told(self) -> list[Mail]:
        found = [(one.to, one.language, one.kind, one.words) for one in mails(self.world)]
        return [one for one in found if one[2].startswith("webhook_")]

    def kinds(self) -> list[str]:
        return [kind for _, _, kind, _ in self.told()]

    def words(self, **more: int) -> dict[str, str | int]:
        url = f"{BASE_URL}/business/{self.account}/webhooks/{self.endpoint}"
        return {"name": "Shop", "address": ADDRESS, "url": url, **more}


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=0) as held:
        yield held


@pytest.fixture
def desk(world: InProcess) -> Desk:
    return Desk(world, world.merchants[0])


def speaks(world: InProcess, email: str, language: str) -> None:
    async def changed() -> None:
        login = await world.context.store.find(Tables.logins, email)
        assert login is not None
        await world.context.engine.submit(ChangeProfile(login.person, "", language, has_notices=False))

    world.run(changed())


@pytest.mark.both_engines
def test_one_that_fails_for_an_hour_is_told_once_and_so_is_that_it_works_again(desk: Desk) -> None:
    world, to = desk.world, desk.shop.email
    speaks(world, to, "tr")
    since = desk.fail()
    world.clock.advance(WEBHOOK_FAILING_TOLD_MS - 1)
    assert (desk.tell(), desk.told()) == (0, [])
    world.clock.advance(1)
    assert (desk.tell(), desk.tell()) == (1, 0)
    failing = (to, "tr", "webhook_failing", desk.words(at=since))
    assert desk.told() == [failing]
    world.clock.advance(1)
    desk.tried(desk.first, 200)
    assert (desk.tell(), desk.tell()) == (1, 0)
    assert desk.told() == [failing, (to, "tr", "webhook_working", desk.words())]
    # Another time it is news again.
    desk.happen()
    desk.fail()
    world.clock.advance(WEBHOOK_FAILING_TOLD_MS)
    assert (desk.tell(), desk.tell()) == (1, 0)
    assert desk.kinds() == ["webhook_failing", "webhook_working", "webhook_failing"]


def test_one_that_recovers_within_the_hour_is_not_spoken_of(desk: Desk) -> None:
    desk.fail()
    desk.world.clock.advance(WEBHOOK_FAILING_TOLD_MS - 1)
    desk.tried(desk.first, 200)
    desk.world.clock.advance(WEBHOOK_FAILING_TOLD_MS)
    assert (desk.tell(), desk.told()) == (0, [])


def test_one_that_is_stopped_is_told_why(desk: Desk) -> None:
    desk.fail()
    desk.world.clock.advance(WEBHOOK_FAILING_TOLD_MS)
    desk.tell()
    desk.fail_on()
    at = desk.world.now_ms()
    desk.world.clock.advance(5)
    assert (desk.tell(), desk.tell()) == (1, 0)
    assert desk.kinds() == ["webhook_failing", "webhook_stopped"]
    assert desk.told()[1][3] == desk.words(at=at)


def test_one_that_says_it_is_gone_is_told_at_once(desk: Desk) -> None:
    desk.tried(desk.first, 410)
    assert (desk.tell(), desk.tell()) == (1, 0)
    assert desk.kinds() == ["webhook_gone"]
    # Who has mended it knows that it is mended.
    desk.submit(UpdateWebhookEndpoint(desk.endpoint, desk.account, "test", state="enabled"))
    desk.world.clock.advance(1)
    desk.tried(desk.first + 1, 200)
    assert (desk.tell(), desk.kinds()) == (0, ["webhook_gone"])


def test_an_endpoint_of_a_test_account_is_told_to_the_owner_of_the_live_one(world: InProcess) -> None:
    shop = world.merchants[0]
    desk = Desk(world, shop)
    desk.endpoint = desk.made(shop._replace(account=shop.test_account))
    world.data(trial(shop.test_key, "expire", world.data(create(shop.test_key))["id"]))
    result = WebhookResult(desk.endpoint, desk.queue.next, world.now_ms(), 1, 410, "status")
    desk.submit(RecordWebhookResults((result,)))
    speaks(world, shop.email, "en")
    assert desk.tell() == 1
    desk.account = int(shop.test_account)
    words = {**desk.words(at=world.now_ms()), "name": "Shop (test account)"}
    assert desk.told() == [(shop.email, "en", "webhook_gone", words)]


def test_nothing_is_told_while_the_account_may_not_act(desk: Desk) -> None:
    desk.tried(desk.first, 410)
    desk.world.act("account suspend", account=desk.shop.account)
    assert (desk.tell(), desk.told()) == (0, [])
    desk.world.act("account resume", account=desk.shop.account)
    assert (desk.tell(), desk.kinds()) == (1, ["webhook_gone"])


@pytest.mark.both_engines
def test_nobody_is_told_twice_whoever_looks(desk: Desk) -> None:
    desk.tried(desk.first, 410)

    async def several() -> None:
        await asyncio.gather(*(desk.worker().tell() for _ in range(3)))

    desk.world.run(several())
    assert desk.kinds() == ["webhook_gone"]


def test_one_that_dies_before_the_commit_has_told_nothing_and_the_next_tells(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.tried(desk.first, 410)
    engine = desk.world.context.engine
    submit = type(engine).submit

    async def dies(self: Any, command: Any) -> Any:  # noqa: ANN401 - as the engine has it
        if isinstance(command, TellWebhookOwner):
            assert command.letters
            raise asyncio.CancelledError
        return await submit(self, command)

    monkeypatch.setattr(type(engine), "submit", dies)
    with pytest.raises(asyncio.CancelledError):
        desk.tell()
    monkeypatch.undo()
    assert desk.told() == []
    assert (desk.tell(), desk.kinds()) == (1, ["webhook_gone"])


def test_one_that_is_removed_is_not_spoken_of(desk: Desk) -> None:
    desk.tried(desk.first, 410)
    desk.submit(RemoveWebhookEndpoint(desk.endpoint, desk.account, "test"))
    assert (desk.tell(), desk.told()) == (0, [])


def test_many_are_told_in_several_looks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_notifier, "WEBHOOK_OWNERS_TOLD_AT_ONCE", 2)
    for _ in range(3):
        desk.tried(desk.first, 410)
        desk.endpoint = desk.made(desk.shop)
    assert [desk.tell() for _ in range(3)] == [2, 1, 0]
    assert desk.kinds() == ["webhook_gone"] * 3
