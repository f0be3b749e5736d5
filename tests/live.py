"""A real service to talk to: called in process under a clock that tests move, or served by a process of its own.

Tests see requests, operators' acts and the books. Which database is behind them is decided here, in one place: a file,
or a database of a PostgreSQL server. Several services may share the latter.
"""

import asyncio
import contextlib
import functools
import itertools
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
import pyotp
import uvloop

from qirsh.domain.identifier import Identifiers
from qirsh.domain.money import CURRENCIES
from qirsh.engine.clock import Clock, ManualClock, system_clock
from qirsh.engine.passwords import Passwords
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from qirsh.store.integrity import invariants
from qirsh.tracing.spans import Tracer
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, stream_head, wire
from qirsh.web.http.rate_limit import RateLimits
from qirsh.web.operator.control import OperatorReply, OperatorRequest, perform
from qirsh.web.routes import ROUTES
from qirsh.web.server.traced_router import make_router
from qirsh.workers.payment_expirer import PaymentExpirer
from tests.database import Select, database_at
from tests.forked import Process, start
from tests.line import Line, Lost, NotSent
from tests.operators import LONG_AGO_MS, appointed
from tests.postgres import PostgresServer
from tests.quick_passwords import quick_hasher
from tests.until_the_end import until_the_end
from tests.waiting import wait_until

T = TypeVar("T")

START: Final = 1_800_000_000_000
PASSWORD: Final = "correct horse battery"
PIN: Final = "246813"
WRONG_PIN: Final = "864209"
ORIGIN: Final = "https://shop.example"
FUNDS: Final = 1_000_000_00  # What a customer starts with, of each currency.

PAYMENTS: Final = "/api/v1/remote-payments"
WALLET: Final = "/api/v1/wallet/remote-payments"
BALANCES: Final = "/api/v1/wallet/balances"
SESSIONS: Final = "/api/v1/wallet/sessions"
TRIALS: Final = "/api/v1/test/remote-payments"

# What serves, and ends on a signal, as `qirsh serve` does but without a word.
_SERVE: Final = """
from qirsh.cli.serve.command import _signals, run_until_signal
from qirsh.service import opened, serve
from qirsh.settings import read_settings
async def main():
    settings = read_settings()
    async with opened(settings) as parts:
        await serve(settings, parts, on_ready=_signals.hand_over)
run_until_signal(main())
"""
# Killed with its parent, so that a test run that is killed leaves no server behind.
TIED: Final = ("setpriv", "--pdeathsig=KILL", "--", sys.executable)
_ANSWER_S_MAX: Final = 120
_SHARED: Final = 4
_SHOPS, _PEOPLE = 24, 70  # Of the worlds that others are copies of, unless nobody is there at all.
_NAMES: Final = itertools.count(1)  # No two people or deposits of one test run have the same.


class Operator(NamedTuple):
    """One who acts at the desk."""

    email: str
    totp_secret: str


class Merchant(NamedTuple):
    """An approved commercial account, and a live and a test key of it."""

    email: str
    personal: str
    account: str
    test_account: str
    key: str
    key_id: str
    test_key: str


class Customer(NamedTuple):
    """A verified person with a funds of every currency, signed in."""

    email: str
    account: str
    token: str
    pin: str = PIN


class Call(NamedTuple):
    """A request to be sent, alone or together with others."""

    method: str
    path: str
    token: str | None = None
    content: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def with_header(self, name: str, value: str) -> Self:
        """The same call with one more header."""
        return self._replace(headers=(*self.headers, (name, value)))

    def once(self, key: str) -> Self:
        """The same call with an Idempotency-Key."""
        return self.with_header("idempotency-key", key)

    @property
    def target(self) -> bytes:
        """What is asked for, as it is sent."""
        return httpx2.URL(self.path).raw_path

    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """All of them, as they are sent."""
        headers = [(name.encode(), value.encode()) for name, value in self.headers]
        return headers if self.token is None else [*headers, (b"authorization", f"Bearer {self.token}".encode())]


def post(path: str, token: str | None, body: object) -> Call:
    """A JSON body: bytes as they are, anything else encoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Call("POST", path, token, content, (("content-type", "application/json"),))


def create(key: str, body: object = None, **fields: object) -> Call:
    """Create a payment, of one dollar unless told otherwise."""
    return post(PAYMENTS, key, {"amount": 100, "currency": "USD", **fields} if body is None else body)


def retrieve(key: str, payment_id: str, query: str = "") -> Call:
    return Call("GET", f"{PAYMENTS}/{payment_id}{query}", key)


def see(customer: Customer, payment_id: str) -> Call:
    return Call("GET", f"{WALLET}/{payment_id}", customer.token)


def pay(customer: Customer, payment_id: str, pin: str = "") -> Call:
    return post(f"{WALLET}/{payment_id}/pay", customer.token, {"pin": pin or customer.pin})


def cancel(key: str, payment_id: str) -> Call:
    """Without a body: it needs none."""
    return Call("POST", f"{PAYMENTS}/{payment_id}/cancel", key)


def refund(key: str, payment_id: str, **fields: object) -> Call:
    """All that is left, unless told otherwise."""
    return post(f"{PAYMENTS}/{payment_id}/refunds", key, fields)


def trial(key: str, what: str, payment_id: str, **fields: object) -> Call:
    """Pay, expire or cancel a payment of a test account."""
    return post(f"{TRIALS}/{payment_id}/{what}", key, fields)


def sign_in(email: str, password: str = PASSWORD, **more: str) -> Call:
    return post(SESSIONS, None, {"email": email, "password": password, **more})


class Books:
    """One snapshot of what is stored, read beside the service."""

    def __init__(self, select: Select) -> None:
        self._select = select
        key = self.select("SELECT value FROM constant WHERE name = 'identifier_key'")[0][0]
        self._identifiers = Identifiers(key)

    def select(self, sql: str, *arguments: str | int) -> list[tuple[Any, ...]]:
        """Rows of plain SQL, with a `?` for each argument."""
        return self._select(sql, *arguments)

    def counts(self) -> dict[str, int]:
        """The number of rows of each table that a call may write. Payments expire whenever they are due."""
        tables = ("payment", "refund", "transfer", "event", "stored_response", "session", "audit", "balance")
        counted = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)  # noqa: S608 - our own names
        expired = "(SELECT count(*) FROM event WHERE type = 'remote_payment.expired')"
        [(*found, gone)] = self.select(f"SELECT {counted}, {expired}")
        counts = dict(zip(tables, found, strict=True))
        return {**counts, "event": counts["event"] - gone}

    def held(self, account: str, currency: str = "USD") -> int:
        """The balance of an account, whoever may be told of it."""
        rows = self.select("SELECT amount FROM balance WHERE account = ? AND currency = ?", int(account), currency)
        return int(rows[0][0]) if rows else 0

    def payment_number(self, payment_id: str) -> int:
        """The number inside of a payment that is known by its id."""
        number = self._identifiers.payment_number(payment_id)
        assert number is not None
        return number

    def violations(self) -> list[str]:
        """What is wrong with the money, in sentences."""
        found = invariants.check(self._select, lambda _: None)
        return [violation.sentence for violation in found]


class World:
    """A service, people in it, and a way to call it. Everything waits for its answer: tests are synchronous."""

    def __init__(self, settings: Settings) -> None:
        self._code_steps: dict[str, int] = {}
        self.settings = settings
        self.operators: list[Operator] = []
        self.merchants: list[Merchant] = []
        self.customers: list[Customer] = []
        self.database = database_at(settings.database)
        self._loop = uvloop.new_event_loop()

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        self.database.close()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end. The service in process moves only meanwhile."""
        return self._loop.run_until_complete(work)

    # Calls.

    async def sent(self, call: Call) -> httpx2.Response:
        """One answer; many of these may be awaited at once."""
        raise NotImplementedError

    def send(self, call: Call) -> httpx2.Response:
        """One answer."""
        return self.run(self.sent(call))

    def together(self, calls: Iterable[Call]) -> list[httpx2.Response]:
        """All at once, each on a connection of its own; the answers in the order of the calls."""

        async def gathered() -> list[httpx2.Response]:
            return await asyncio.gather(*(self.sent(call) for call in calls))

        return self.run(gathered())

    def payment(self, merchant: Merchant, body: object = None, **fields: object) -> str:
        """The id of a new payment."""
        answer = self.send(create(merchant.key, body, **fields))
        assert answer.status_code == 201, answer.text
        payment_id: str = answer.json()["data"]["id"]
        return payment_id

    def data(self, call: Call) -> dict[str, Any]:
        """What a call that must succeed tells."""
        answer = self.send(call)
        assert answer.status_code in {200, 201}, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def balance(self, customer: Customer, currency: str = "USD") -> int:
        """What the customer is told they hold."""
        items = self.data(Call("GET", BALANCES, customer.token))["items"]
        held: int = next((item["amount"] for item in items if item["currency"] == currency), 0)
        return held

    def paid(self, merchant: Merchant, customer: Customer, **fields: object) -> str:
        """The id of a payment that the customer has paid."""
        payment_id = self.payment(merchant, **fields)
        self.data(pay(customer, payment_id))
        return payment_id

    def held(self, account: str, currency: str = "USD") -> int:
        """What the books say that an account holds."""
        with self.books() as books:
            return books.held(account, currency)

    @contextlib.contextmanager
    def books(self) -> Iterator[Books]:
        """A look at the store from outside, in one read-only snapshot."""
        with self.database.snapshot() as select:
            yield Books(select)

    def spoiled(self, note: str) -> contextlib.AbstractContextManager[None]:
        """Meanwhile the database refuses every payment with this note, as it would refuse what breaks its rules."""
        return self.database.refusing(note)

    def counts(self) -> dict[str, int]:
        """The number of rows of each table, now."""
        with self.books() as books:
            return books.counts()

    def violations(self) -> list[str]:
        """What is wrong with the money, now."""
        with self.books() as books:
            return books.violations()

    # The operators' desk.

    async def performed(self, wish: OperatorRequest) -> OperatorReply:
        """Carry out an act, by whichever way operators have."""
        raise NotImplementedError

    def now_ms(self) -> int:
        """By the service's clock."""
        raise NotImplementedError

    def code_of(self, email: str) -> str:
        """The operator's second factor, now."""
        secret = next(operator.totp_secret for operator in self.operators if operator.email == email)
        return pyotp.TOTP(secret).at(self.now_ms() // 1000)

    def one_time_code(self, email: str) -> str:
        """A code of the operator's that opened nothing yet: each opens one session, and those next to now count too."""
        step = max(self.now_ms() // 30_000 - 1, self._code_steps.get(email, 0) + 1)
        wait_until(lambda: self.now_ms() // 30_000 >= step - 1)
        self._code_steps[email] = step
        secret = next(operator.totp_secret for operator in self.operators if operator.email == email)
        return pyotp.TOTP(secret).generate_otp(step)

    async def tried(self, act: str, words: Mapping[str, object], operator: int = 0) -> OperatorReply:
        """An act that may be refused."""
        wish = OperatorRequest(act, dict(words))
        if self.operators:
            email = self.operators[operator].email
            wish = OperatorRequest(act, dict(words), email, PASSWORD, self.code_of(email))
        return await self.performed(wish)

    async def done(self, act: str, operator: int = 0, **words: object) -> dict[str, Any]:
        """An act that must succeed."""
        reply = await self.tried(act, words, operator)
        assert reply.done is not None, f"{act}: {reply.code}: {reply.detail}"
        return reply.done

    def act(self, act: str, operator: int = 0, **words: object) -> dict[str, Any]:
        """The same, waited for."""
        return self.run(self.done(act, operator, **words))

    def agree(self, act: str, operator: int = 0, *, by: int = 1, **words: object) -> dict[str, Any]:
        """What one operator asks for, and another confirms."""
        asked = self.act(act, operator, **{"reason": "test", **words})
        return self.act("proposal confirm", by, id=asked["id"], digest=asked["digest"])

    def deposit(self, account: str, amount_minor: int, currency: str = "USD") -> None:
        """Money from outside."""
        self.run(self._deposited(account, amount_minor, currency))

    def withdraw(self, account: str, amount_minor: int, currency: str = "USD") -> None:
        """Money to the outside, all of it there."""
        assert self.run(self.withdrawn(account, amount_minor, currency)) == ""

    async def withdrawn(self, account: str, amount_minor: int, currency: str = "USD") -> str:
        """The code of the refusal, or empty."""
        reference = f"withdrawal {next(_NAMES)}"
        amount = f"{amount_minor // 100}.{amount_minor % 100:02d}"
        reply = await self.tried("withdraw ask", _slip(account, amount, currency, reference))
        if reply.done is not None:
            reply = await self.tried("withdraw confirm", {"reference": reference}, 1)
        return "" if reply.done is not None else reply.code

    def customer(self) -> Customer:
        """Somebody no other test has met. The first few of the list belong to all."""
        return self.customers.pop() if len(self.customers) > _SHARED else self.run(self._joined())

    def merchant(self) -> Merchant:
        """A shop that no other test has met. The first few of the list belong to all."""
        return self.merchants.pop() if len(self.merchants) > _SHARED else self.run(self._opened_shop())

    def person(self, *, verified: bool) -> Customer:
        """Somebody without money, signed in."""

        async def joined() -> Customer:
            email, account = await self._added()
            if verified:
                await self.done("account verify", account=account)
            return await self._signed_in(email, account)

        return self.run(joined())

    def anew(self, customer: Customer) -> Customer:
        """The same one, in a new session of an app."""
        return self.run(self._signed_in(customer.email, customer.account))

    async def appoint(self) -> None:
        """Two operators, who have been it for long enough."""
        raise NotImplementedError

    def settle(self, *, shops: int, people: int) -> None:
        """Two operators, some merchants and many customers, all by the acts that operators have."""

        async def settled() -> None:
            await self.appoint()
            self.merchants = await _some_at_once(self._opened_shop, shops)
            self.customers = await _some_at_once(self._joined, people)

        self.run(settled())

    async def _added(self) -> tuple[str, str]:
        number = next(_NAMES)
        email = f"person{number}@home.example"
        done = await self.done("person add", email=email, name=f"Person {number}", password=PASSWORD, pin=PIN)
        return email, done["account"]

    async def _signed_in(self, email: str, account: str) -> Customer:
        answer = await self.sent(sign_in(email))
        assert answer.status_code == 201, answer.text
        return Customer(email, account, answer.json()["data"]["token"])

    async def _joined(self) -> Customer:
        email, account = await self._added()
        await self.done("account verify", account=account)
        await asyncio.gather(*(self._deposited(account, FUNDS, currency) for currency in CURRENCIES))
        return await self._signed_in(email, account)

    async def _deposited(self, account: str, amount_minor: int, currency: str) -> None:
        reference = f"deposit {next(_NAMES)}"
        amount = f"{amount_minor // 100}.{amount_minor % 100:02d}"
        await self.done("deposit ask", **_slip(account, amount, currency, reference))
        await self.done("deposit confirm", operator=1, reference=reference)

    async def _opened_shop(self) -> Merchant:
        email, personal = await self._added()
        await self.done("account verify", account=personal)
        asked = await self.done("account request", account=personal, name="Shop", returnOrigins=ORIGIN)
        approved = await self.done("account approve", account=asked["account"])
        live = await self.done("key issue", account=asked["account"])
        test = await self.done("key issue", account=asked["account"], test=True)
        return Merchant(
            email, personal, asked["account"], approved["testAccount"], live["key"], live["id"], test["key"]
        )


class InProcess(World):
    """The application without a network, under a clock that stands still until it is moved.

    Its passwords are hashed with little effort, since every operator's act proves one. Such a hash stays cheap to
    check, so whoever serves this data afterwards finds people who sign in fast.

    Several services know as little of each other as several processes would, and take calls and acts in turn.
    """

    def __init__(
        self, settings: Settings, clock: Clock | None = None, services: int = 1, tracer: Tracer | None = None
    ) -> None:
        super().__init__(settings)
        self.database = database_at(settings.database, is_watched=True)
        self._tracer = tracer
        self._services = services
        self.clock = ManualClock(START)
        self._behind_ms = 0
        self._given = clock or self.clock
        self._stack = contextlib.AsyncExitStack()
        self.context: Context
        self._all: list[Context] = []
        self._turns: Iterator[Context]

    def _clock(self) -> int:
        """Behind while the operators are made, who count as two only after some days."""
        return self._given() - self._behind_ms

    def __enter__(self) -> Self:
        for _ in range(self._services):
            opening = self._stack.enter_async_context(opened(self.settings, clock=self._clock, tracer=self._tracer))
            context = self.run(_waited(opening))
            self._all.append(msgspec.structs.replace(context, passwords=_QuickPasswords(), limits=None))
        self.context = self._all[0]
        self._turns = itertools.cycle(self._all)
        self._connect()
        return self

    def reopen(self) -> None:
        """As after a stop and a start."""
        self._close()
        self._all.clear()
        self.__enter__()

    def _close(self) -> None:
        self.database.close()
        for context in self._all:
            context.passwords.close()
        self.run(self._stack.aclose())

    def _connect(self) -> None:
        self._apps = itertools.cycle([make_router(context, ROUTES) for context in self._all])
        self._peer = "127.0.0.1"

    async def begun(self, call: Call) -> Response:
        """The answer before it is sent: whoever wants it in pieces closes its chunks."""
        url, content = httpx2.URL(call.path), call.content or b""
        headers = {name.lower(): value for name, value in call.raw_headers()}
        headers.setdefault(b"host", urlsplit(self.settings.base_url).netloc.encode())
        app = next(self._apps)
        asked = Request(app.next_id(), call.method, url.path, url.query, headers, content, self._peer)
        return await app.answer(asked)

    async def sent(self, call: Call) -> httpx2.Response:
        """What is read of the very bytes that a connection would send."""
        response = await self.begun(call)
        if response.chunks is not None:
            answer = stream_head(response, b"", is_last=False, is_chunked=False)
            try:
                answer += b"".join([chunk async for chunk in response.chunks])
            finally:
                await response.chunks.aclose()
        else:
            answer = wire(response, b"", is_last=False)
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        fields = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
        return httpx2.Response(int(status.split()[1]), headers=fields, content=body)

    def limit(self, limits: RateLimits) -> None:
        """From now on calls are counted, and calls of before are forgotten. Nobody is while a world is settled."""
        self._all = [msgspec.structs.replace(context, limits=limits) for context in self._all]
        self._connect()

    def change(self, **parts: object) -> None:
        """From now on calls and acts meet these parts instead."""
        self._all = [msgspec.structs.replace(own, **parts) for own in self._all]
        self.context = self._all[0]
        self._turns = itertools.cycle(self._all)
        self._connect()

    @property
    def services(self) -> list[Context]:
        """Each as it would be in a process of its own."""
        return self._all

    def come_from(self, peer: str) -> None:
        """From now on calls come from this address."""
        self._peer = peer

    def __exit__(self, *_: object) -> None:
        self._close()
        super().__exit__()

    async def performed(self, wish: OperatorRequest) -> OperatorReply:
        return await perform(next(self._turns), wish)

    def now_ms(self) -> int:
        return self._clock()

    async def appoint(self) -> None:
        first, second = "first@bank.example", "second@bank.example"
        self._behind_ms = LONG_AGO_MS
        done = await self.done("operator create", email=first, name="Operator", password=PASSWORD)
        self.operators.append(Operator(first, done["totpSecret"]))
        _, secret = await appointed(self.context, second, PASSWORD, by=done["person"])
        self.operators.append(Operator(second, secret))
        self._behind_ms = 0

    def poll(self) -> None:
        """What every process does a few times a second: hear of revocations."""
        for context in self._all:
            self.run(context.callers.poll())

    async def expired_due(self) -> int:
        """The expiry worker looks until there is nothing left; how many payments it found."""
        context = next(self._turns)
        worker = PaymentExpirer(context.store, context.engine)
        total = 0
        while found := await worker.expire_due():
            total += found
        return total

    def expire_due(self) -> int:
        return self.run(self.expired_due())


class Live(World):
    """A server in a process of its own, on loopback. Operators reach it through its control socket, like the CLI.

    With others beside it on the same database, calls and acts go to each in turn.
    """

    def __init__(
        self, settings: Settings, *beside: Settings, is_afresh: bool = False, is_watched: bool = False
    ) -> None:
        super().__init__(settings)
        self.database = database_at(settings.database, is_watched=is_watched)
        self._is_afresh = is_afresh
        self.log = self.settings.data_dir / "server.log"
        self.places = (settings, *beside)
        self.process: Process
        self._beside: list[Process] = []
        self._turns = itertools.cycle(self.places)
        self._idle: dict[int, list[Line]] = {port: [] for port in self.ports}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._hang_up())
        self.stop()
        super().__exit__()

    def start(self) -> None:
        """Until they say that they are ready."""
        self.process, *self._beside = [self._spawned(place) for place in self.places]
        for number, process in enumerate((self.process, *self._beside)):
            self._wait_for(number, process)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask them to end, or kill them."""
        for process in (self.process, *self._beside):
            process.send_signal(how)
        for process in (self.process, *self._beside):
            process.wait(60)

    async def _hang_up(self) -> None:
        """A server that stops would wait for whoever may ask once more."""
        for line in itertools.chain.from_iterable(self._idle.values()):
            await line.hang_up()

    @property
    def ports(self) -> list[int]:
        """Of all processes."""
        return [place.port for place in self.places]

    def at(self, number: int, call: Call) -> Call:
        """The same call, for one of the processes."""
        place = self.places[number]
        return call._replace(path=f"http://{place.host}:{place.port}{call.path}")

    def everywhere(self, call: Call) -> list[Call]:
        """The same call, for each of the processes."""
        return [self.at(number, call) for number in range(len(self.places))]

    async def sent(self, call: Call) -> httpx2.Response:
        """On a connection of its own meanwhile."""
        if self._beside and call.path.startswith("/"):
            call = self.at(self.places.index(next(self._turns)), call)
        port = httpx2.URL(call.path).port or self.settings.port
        idle = self._idle[port]
        while idle and not idle[-1].is_idle():
            idle.pop().cut()
        line = idle.pop() if idle else Line(port)
        try:
            async with asyncio.timeout(_ANSWER_S_MAX):
                answer = await line.ask(call)
        except BaseException:
            line.cut()
            raise
        idle.append(line)
        return httpx2.Response(answer.status, headers=answer.lines, content=answer.body)

    def _spawned(self, place: Settings) -> Process:
        told = {**os.environ, **environment(place)}
        with self.log.open("ab") as log:
            if self._is_afresh:
                return subprocess.Popen((*TIED, "-c", _SERVE), env=told, stdout=log, stderr=log, text=True)
            return start(("-c", _SERVE), env=told, stdout=log, stderr=log)

    def _wait_for(self, number: int, process: Process) -> None:
        ready = self.at(number, Call("GET", "/readyz"))

        def is_ready() -> bool:
            if process.poll() is not None:
                self.stop()
                raise RuntimeError(self.log.read_text())
            with contextlib.suppress(NotSent, Lost):
                return self.send(ready).status_code == 200
            return False

        wait_until(is_ready)

    async def performed(self, wish: OperatorRequest) -> OperatorReply:
        reader, writer = await asyncio.open_unix_connection(next(self._turns).control_socket)
        writer.write(msgspec.json.encode(wish) + b"\n")
        reply = msgspec.json.decode(await reader.readline(), type=OperatorReply)
        writer.close()
        await writer.wait_closed()
        return reply

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def complaints(self) -> list[str]:
        """Lines of the servers' log: a good day has none."""
        return self.log.read_text().splitlines()


class _QuickPasswords(Passwords):
    def __init__(self) -> None:
        super().__init__()
        self._hasher = self._code_hasher = quick_hasher()


class _Settled(NamedTuple):
    """A world at rest, which others begin as copies of: to settle one takes longer than most tests."""

    folder: str
    database: str  # Its name; empty for a file in the folder.
    secret: str
    operators: list[Operator]
    merchants: list[Merchant]
    customers: list[Customer]

    def hand_over(self, world: World, shops: int, people: int) -> None:
        """So many of its people, to a world on a copy of its database."""
        world.operators, world.merchants = [*self.operators], self.merchants[:shops]
        world.customers = self.customers[:people]


def _settled(server: PostgresServer | None, shops: int, people: int, *, is_now: bool) -> _Settled:
    """With at least so many, now, or at the time at which worlds in process begin."""
    assert shops <= _SHOPS
    assert people <= _PEOPLE
    return settled_once(server, is_empty=not shops and not people, is_now=is_now)


@functools.cache
def settled_once(server: PostgresServer | None, *, is_empty: bool, is_now: bool) -> _Settled:
    """With many people, or with operators alone."""
    folder, secret = until_the_end(tempfile.TemporaryDirectory(prefix="qirsh-settled-")), secrets.token_hex(32)
    database = "" if server is None else server.create_database()
    told = {"QIRSH_DATA_DIR": folder, "QIRSH_SECRET_KEY": secret, "QIRSH_RATE_LIMITS": "off"}
    if server is not None:
        told["QIRSH_DATABASE_URL"] = server.url(database)
    with InProcess(read_settings(told), system_clock if is_now else None) as world:
        world.settle(shops=0 if is_empty else _SHOPS, people=0 if is_empty else _PEOPLE)
    return _Settled(folder, database, secret, world.operators, world.merchants, world.customers)


@contextlib.contextmanager
def in_process(
    server: PostgresServer | None = None,
    *,
    shops: int = 2,
    people: int = 2,
    services: int = 1,
    more: Mapping[str, str] = {},
    clock: Clock | None = None,
    tracer: Tracer | None = None,
) -> Iterator[InProcess]:
    """A small world in process, in a file unless a server is given, with more settings if told.

    Its clock is its own, which stands still, unless one is given that begins with today.
    """
    settled = _settled(server, shops, people, is_now=clock is not None)
    with _copy(settled, server, more=more) as [settings], InProcess(settings, clock, services, tracer) as world:
        settled.hand_over(world, shops, people)
        yield world


@contextlib.contextmanager
def live(
    server: PostgresServer | None = None,
    *,
    shops: int = 2,
    people: int = 2,
    processes: int = 1,
    more: Mapping[str, str] = {},
    is_afresh: bool = False,
    is_watched: bool = False,
) -> Iterator[Live]:
    """A world that is served, with more settings if told.

    Those who start afresh hash passwords with the usual effort. The files of one that is watched stay open to us.
    """
    settled = _settled(server, shops, people, is_now=True)
    with (
        _copy(settled, server, processes, more) as places,
        Live(*places, is_afresh=is_afresh, is_watched=is_watched) as world,
    ):
        settled.hand_over(world, shops, people)
        yield world


@contextlib.contextmanager
def _copy(
    settled: _Settled, server: PostgresServer | None, processes: int = 1, more: Mapping[str, str] = {}
) -> Iterator[list[Settings]]:
    """For each process a place and an address; for all of them one database. Whichever engine, it is chosen here."""
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="qirsh-")) for _ in range(processes)]
        ports = [str(free_port()) for _ in range(processes)]
        # Tests call as fast as they can. Those of the limits ask for them. What one process tells and seals, the
        # others tell and unseal.
        shared = {"QIRSH_RATE_LIMITS": "off", "QIRSH_SECRET_KEY": settled.secret, **more}
        if server is None:
            assert processes == 1
            shutil.copytree(settled.folder, folders[0], dirs_exist_ok=True)
        else:
            shared["QIRSH_DATABASE_URL"] = stack.enter_context(server.database(settled.database))
            shared["QIRSH_BASE_URL"] = f"http://127.0.0.1:{ports[0]}"
        yield [
            read_settings({"QIRSH_DATA_DIR": folder, "QIRSH_PORT": port, **shared})
            for folder, port in zip(folders, ports, strict=True)
        ]


def free_port() -> int:
    """Below those that the system gives to outgoing connections: a server that is restarted finds it free again."""
    while True:
        port = random.randint(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def environment(settings: Settings) -> dict[str, str]:
    """With which a program finds the same."""
    database = settings.database
    told = {
        "QIRSH_DATA_DIR": str(settings.data_dir),
        "QIRSH_PORT": str(settings.port),
        "QIRSH_BASE_URL": settings.base_url,
        "QIRSH_TIME_ZONE": settings.time_zone.key,
        "QIRSH_DATABASE_URL": f"sqlite:///{database}" if isinstance(database, Path) else database,
        "QIRSH_RATE_LIMITS": "on" if settings.has_rate_limits else "off",
    }
    if settings.trusted_proxies:
        told["QIRSH_TRUSTED_PROXIES"] = ",".join(map(str, settings.trusted_proxies))
    if settings.operator_networks:
        told["QIRSH_OPERATOR_NETWORKS"] = ",".join(map(str, settings.operator_networks))
    if settings.webhook_networks:
        told["QIRSH_WEBHOOK_NETWORKS"] = ",".join(map(str, settings.webhook_networks))
    if settings.smtp is not None:
        told |= {"QIRSH_SMTP_URL": settings.smtp.url, "QIRSH_MAIL_FROM": str(settings.mail_from)}
    if settings.metrics_token:
        told["QIRSH_METRICS_TOKEN"] = settings.metrics_token.decode()
    if settings.secret_keys:
        told["QIRSH_SECRET_KEY"] = ",".join(key.decode() for key in settings.secret_keys)
    return told


def _slip(account: str, amount: str, currency: str, reference: str) -> dict[str, Any]:
    return {"account": account, "amount": amount, "currency": currency, "reference": reference, "reason": "test"}


async def _waited(work: Awaitable[T]) -> T:
    return await work


async def _some_at_once(make: Callable[[], Awaitable[T]], count: int) -> list[T]:
    """Only so many proofs of a password may wait at the desk."""
    turns = asyncio.Semaphore(8)

    async def one() -> T:
        async with turns:
            return await make()

    return await asyncio.gather(*(one() for _ in range(count)))


def refused(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem that an answer tells of, after a look at its shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    fields = ["type", "title", "status", "detail", "code", "errors", "requestId"]
    assert list(told) == fields + (["attemptsLeft"] if "attemptsLeft" in told else [])
    assert (told["status"], told["code"]) == (status, code), answer.text
    assert told["type"] == f"urn:qirsh:problem:{code}"
    assert told["requestId"] == answer.headers["x-request-id"]
    assert told["title"]
    assert told["detail"]
    assert all(list(error) == ["field", "code", "detail"] for error in told["errors"])
    assert ("retry-after" in answer.headers) == (status in {429, 503})
    return told


def field_errors(answer: httpx2.Response) -> dict[str, str]:
    """Field -> what is wrong with it."""
    told = refused(answer, 422, "validation_failed")
    assert told["errors"]
    return {error["field"]: error["code"] for error in told["errors"]}


def outcome(answer: httpx2.Response) -> str:
    """The problem's code; empty for a success."""
    return "" if answer.is_success else str(answer.json()["code"])
