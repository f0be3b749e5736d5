"""A world with webhook endpoints, a sender that works, and a receiver on this machine that keeps what it gets."""

import asyncio
import contextlib
import hashlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec
from standardwebhooks import Webhook

from qirsh.domain.commands.webhook import CreateWebhookEndpoint
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookDelivery, WebhookEndpoint, WebhookQueue
from qirsh.engine.entropy import system_entropy
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.outbound.guard import Guard
from qirsh.outbound.line_pool import LinePool, make_tls_context
from qirsh.outbound.post import Poster
from qirsh.outbound.signature import make_secret
from qirsh.workers.webhook_brake import Brake
from qirsh.workers.webhook_parcels import Parcels
from qirsh.workers.webhook_sender import WebhookSender
from tests.live import PAYMENTS, Call, InProcess, Merchant, create
from tests.outbound.receiver import LOOPBACK, Visit, receiving
from tests.waiting import until

_NUMBERS: Final = itertools.count(1)


class Got(msgspec.Struct):
    """One request as the receiver got it."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


Reply = Callable[[Got], Awaitable[int] | int]


def _fine(_got: Got) -> int:
    return 200


class Shelf:
    """What arrived, by path, in order; and what is said to it: a status for each request."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.reply: dict[str, Reply] = {}
        self.at_once: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self.port = 0

    async def play(self, visit: Visit) -> None:
        while request := await visit.request():
            head, _, body = request.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            got = Got(first.split()[1], dict(line.split(": ", 1) for line in lines), body)
            self.got.append(got)
            self.at_once[got.path] += 1
            self.most_at_once[got.path] = max(self.most_at_once[got.path], self.at_once[got.path])
            try:
                reply: Reply = self.reply.get(got.path, _fine)
                said = reply(got)
                status = await said if not isinstance(said, int) else said
            finally:
                self.at_once[got.path] -= 1
            await visit.say(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status)

    def hold(self, path: str) -> asyncio.Event:
        """What comes there is answered with 200 once this is set."""
        may_answer = asyncio.Event()

        async def reply(_got: Got) -> int:
            await may_answer.wait()
            return 200

        self.reply[path] = reply
        return may_answer

    def ids(self, path: str) -> list[str]:
        return [got.id for got in self.got if got.path == path]


class Hooks:
    """The sender of a world, and what can be asked of both."""

    def __init__(self, world: InProcess, shelf: Shelf) -> None:
        self.world = world
        self.shelf = shelf
        self.context = world.context
        self.secrets: dict[str, str] = {}

    def sender(self, brake: Brake | None = None) -> WebhookSender:
        context = self.context
        guard = Guard(networks=LOOPBACK)
        return WebhookSender(
            context.store,
            context.engine,
            context.clock,
            secrets=WebhookSecrets(context.keyring),
            poster=Poster(guard, LinePool(tls=make_tls_context())),
            parcels=Parcels(context.store, context.identifiers, context.base_url),
            networks=LOOPBACK,
            brake=brake,
        )

    @contextlib.asynccontextmanager
    async def sending(self, brake: Brake | None = None) -> AsyncIterator[WebhookSender]:
        sender = self.sender(brake)
        task = asyncio.create_task(sender.run())
        try:
            yield sender
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def endpoint(self, shop: Merchant, path: str, *types: str, port: int = 0) -> str:
        """The id of a new one."""
        name = "we_" + hashlib.sha256(b"%d" % next(_NUMBERS)).hexdigest()[:24]
        secret = make_secret(system_entropy)
        made = await self.context.engine.submit(
            CreateWebhookEndpoint(
                id=name,
                account=int(shop.account),
                url=f"http://127.0.0.1:{port or self.shelf.port}{path}",
                types=types,
                description="",
                secret_sealed=WebhookSecrets(self.context.keyring).sealed(secret, name),
                actor="test",
            )
        )
        assert isinstance(made, WebhookEndpoint), made
        self.secrets[name] = secret
        return name

    async def cancelled(self, shop: Merchant) -> str:
        """The id of a payment that was just cancelled: one event."""
        made: str = (await self.world.sent(create(shop.key))).json()["data"]["id"]
        answer = await self.world.sent(Call("POST", f"{PAYMENTS}/{made}/cancel", shop.key))
        assert answer.status_code == 200, answer.text
        return made

    async def events(self, shop: Merchant) -> list[dict[str, Any]]:
        answer = await self.world.sent(Call("GET", "/api/v1/events?limit=100", shop.key))
        items: list[dict[str, Any]] = answer.json()["data"]["items"]
        return items

    async def queue(self, endpoint: str) -> WebhookQueue:
        found = await self.context.store.find(Tables.webhook_queues, endpoint)
        assert found is not None
        return found

    async def state(self, endpoint: str) -> str:
        found = await self.context.store.find(Tables.webhook_endpoints, endpoint)
        assert found is not None
        return found.state

    async def delivery(self, endpoint: str, sequence: int) -> WebhookDelivery | None:
        return await self.context.store.find(Tables.webhook_deliveries, (endpoint, sequence))

    def verify(self, endpoint: str, got: Got) -> None:
        """By a library that is not ours. It looks at the clock of this machine."""
        Webhook(self.secrets[endpoint]).verify(got.body, got.headers)


async def swept(sender: WebhookSender) -> None:
    """It has looked at every endpoint, and begun whatever it would begin: what was not begun by now never is."""
    for _ in range(3):
        before = sender._next_sweep  # noqa: SLF001 - nothing else tells of a look that finds nothing
        await until(lambda before=before: sender._next_sweep != before)  # type: ignore[misc] # noqa: SLF001 - the same


def play(world: InProcess, scene: Callable[[Hooks], Awaitable[None]]) -> None:
    """A scene with a receiver that is open."""

    async def whole() -> None:
        shelf = Shelf()
        async with receiving(shelf.play) as receiver:
            shelf.port = receiver.port
            await scene(Hooks(world, shelf))

    world.run(whole())
