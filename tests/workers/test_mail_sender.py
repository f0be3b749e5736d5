"""Mails leave once, wait when the server cannot take them, and tell nobody but their reader what they say."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator
from email.headerregistry import Address
from typing import Final

import pytest
from aiosmtpd.smtp import SMTP

from qirsh.domain.limits import LEASE_MS
from qirsh.domain.tables import Tables
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.store.reads import queries
from qirsh.web.http.context import Context
from qirsh.workers import mail_sender
from qirsh.workers import role as role_module
from qirsh.workers.mail_sender import MailSender
from qirsh.workers.smtp_client import SmtpLine
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until, wait_until
from tests.workers.mailing import CODE, LINK, post, posting, waiting
from tests.workers.post_office import Answer, PostOffice, hanging, hanging_up, post_office, saying

FROM: Final = Address("قرش", "qirsh", "pay.example")
PAID: Final[dict[str, str | int]] = {
    "amount": 10_098,
    "currency": "SYP",
    "payee": "سوق النور",
    "payment": "4821907735501264",
    "receipt_url": LINK,
}
DAY_MS: Final = 24 * 3600 * 1000
WAITS_S: Final = (10, 60, 300, 1800, 7200, 21_600, 21_600)


@pytest.fixture(scope="module")
def settled(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=0, people=0) as world:
        yield world


@pytest.fixture
def world(settled: InProcess) -> InProcess:
    assert waiting(settled) == {}
    return settled


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with post_office() as opened:
        yield opened


@contextlib.contextmanager
def sender_of(
    world: InProcess,
    port: int,
    kind: type[SmtpLine] = SmtpLine,
    *,
    silence_s: float = NEVER_S,
    context: Context | None = None,
) -> Iterator[MailSender]:
    context = context or world.context
    line = kind(
        host="127.0.0.1",
        port=port,
        security="none",
        user=None,
        password=None,
        own_name="pay.example",
        silence_s=silence_s,
    )
    sender = MailSender(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        line=line,
        sender=FROM,
        base_url="https://pay.example",
        zone=context.time_zone,
    )
    try:
        yield sender
    finally:
        sender.close()


@pytest.fixture
def sender(world: InProcess, office: PostOffice) -> Iterator[MailSender]:
    with sender_of(world, office.port) as made:
        yield made
    world.clock.advance(30 * DAY_MS)
    with sender_of(world, office.port) as last:
        # Whatever a test has left is too old by now.
        world.run(last.send_due())


@pytest.mark.both_engines
def test_mails_leave_oldest_first_over_one_line_and_are_forgotten(
    world: InProcess, office: PostOffice, sender: MailSender
) -> None:
    ids = []
    for number in range(5):
        ids.append(post(world, f"person{number}@home.example"))
        world.clock.advance(1)
    assert world.run(sender.send_due()) is False
    assert office.recipients == [f"person{number}@home.example" for number in range(5)]
    assert [message["Message-ID"] for message in office.taken] == [f"<{mail_id}@pay.example>" for mail_id in ids]
    assert len(office.lines) == 1
    assert waiting(world) == {}


def test_a_code_goes_before_all_notices_and_waits_behind_one_at_most(world: InProcess, office: PostOffice) -> None:
    for number in range(3):
        post(world, f"notice{number}@home.example", "paid", words=PAID)
        world.clock.advance(1)
    post(world, "code@home.example", is_urgent=True)
    loops: list[asyncio.AbstractEventLoop] = []

    class Watched(SmtpLine):
        """While the second mail is sent somebody asks for a code."""

        def send(self, *, sender: str, to: str, message: bytes) -> None:
            super().send(sender=sender, to=to, message=message)
            if to == "notice0@home.example":
                command, _ = posting(world, "another@home.example", is_urgent=True)
                asyncio.run_coroutine_threadsafe(world.context.engine.submit(command), loops[0]).result()

    async def sent(sender: MailSender) -> None:
        loops.append(asyncio.get_running_loop())
        await sender.send_due()

    with sender_of(world, office.port, Watched) as sender:
        world.run(sent(sender))
    assert [address.partition("@")[0] for address in office.recipients] == [
        *("code", "notice0", "another", "notice1", "notice2")
    ]
    assert len(office.lines) == 1


def test_a_mail_says_what_it_is(world: InProcess, office: PostOffice, sender: MailSender) -> None:
    post(world, "sara@home.example", "paid", words=PAID)
    world.run(sender.send_due())
    [message] = office.taken
    assert message["From"].addresses == (FROM,)
    assert message["To"] == "sara@home.example"
    assert "سوق النور" in message["Subject"]
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Content-Language"] == "ar"
    assert message["Date"].datetime.timestamp() * 1000 == world.clock.now // 1000 * 1000
    assert message.get_content_type() == "text/plain"
    body = message.get_content()
    assert "\u2068سوق النور\u2069" in body
    assert "\u2068100.98\u00a0ليرة سورية\u2069" in body
    assert f"\n{LINK}\n" in body


def test_a_mail_that_cannot_be_taken_now_waits_longer_each_time_and_is_given_up_after_three_days(
    world: InProcess, office: PostOffice, sender: MailSender
) -> None:
    office.at_recipient = saying("451 4.7.1 greylisted")
    mail_id = post(world, "sara@home.example")
    began = world.clock.now
    for attempt, wait_s in enumerate(WAITS_S, 1):
        assert world.run(sender.send_due()) is False
        due_at, attempts = waiting(world)[mail_id]
        assert attempts == attempt
        assert 0.8 * wait_s <= (due_at - world.clock.now) / 1000 <= 1.2 * wait_s
        world.clock.now = due_at - 1
        world.run(sender.send_due())
        assert len(office.tried) == attempt
        world.clock.now = due_at
    while waiting(world):
        world.clock.now = max(world.clock.now, *(due_at for due_at, _ in waiting(world).values()))
        world.run(sender.send_due())
    assert 3 * DAY_MS < world.clock.now - began < 4 * DAY_MS
    assert office.taken == []


@pytest.mark.both_engines
def test_a_mail_that_had_to_wait_is_sent_when_the_server_takes_it(
    world: InProcess, office: PostOffice, sender: MailSender
) -> None:
    office.at_mail = saying("452 4.3.1 no room")
    post(world, "sara@home.example")
    world.run(sender.send_due())
    office.at_mail = saying("250 OK")
    world.clock.advance(12_000)
    world.run(sender.send_due())
    assert office.recipients == ["sara@home.example"]
    assert waiting(world) == {}


@pytest.mark.parametrize("where", ["at_recipient", "at_mail"])
def test_a_recipient_who_does_not_exist_is_not_asked_again_and_nobody_else_waits(
    world: InProcess, office: PostOffice, sender: MailSender, where: str
) -> None:
    async def choosy(_server: SMTP, address: str) -> str:
        return "550 5.1.1 unknown" if address.startswith("nobody") else "250 OK"

    setattr(office, where, choosy)
    post(world, "nobody@home.example")
    post(world, "sara@home.example")
    world.run(sender.send_due())
    assert office.recipients == ["sara@home.example"]
    assert waiting(world) == {}


@pytest.mark.parametrize("how", [hanging, hanging_up], ids=["hangs", "hangs up"])
def test_while_the_line_is_down_one_mail_is_tried_and_all_are_kept(
    world: InProcess, office: PostOffice, sender: MailSender, how: Answer
) -> None:
    office.at_recipient = how
    first, *others = [post(world, f"person{number}@home.example") for number in range(3)]
    with sender_of(world, office.port, silence_s=0.5 if how is hanging else NEVER_S) as impatient:
        assert world.run(impatient.send_due()) is True
    assert len(office.tried) <= 1
    assert sorted(attempts for _, attempts in waiting(world).values()) == [0, 0, 1]
    office.at_recipient = saying("250 OK")
    world.clock.advance(12_000)
    assert world.run(sender.send_due()) is False
    assert len(office.taken) == 3
    assert {first, *others} == {message["Message-ID"][1:].partition("@")[0] for message in office.taken}


def test_a_mail_under_another_secret_or_of_a_kind_that_nobody_knows_waits_and_holds_up_nobody(
    world: InProcess, office: PostOffice, sender: MailSender
) -> None:
    other = Keyring([b"another secret of thirty-two bytes"], system_entropy)
    kept = {post(world, "one@home.example", keyring=other), post(world, "two@home.example", "unknown_kind")}
    kept.add(post(world, "three@home.example", "paid", words={**PAID, "currency": "XXX"}))
    post(world, "sara@home.example")
    assert world.run(sender.send_due()) is False
    assert office.recipients == ["sara@home.example"]
    assert set(waiting(world)) == kept


def test_an_address_that_mail_software_would_read_as_another_is_given_up(
    world: InProcess, office: PostOffice, sender: MailSender, subtests: pytest.Subtests
) -> None:
    for address in (
        *("a,b@home.example", "a<b@home.example", '"a@home.example', "a:b;@home.example", "<root>@home.example"),
    ):
        with subtests.test(address):
            post(world, address)
            world.run(sender.send_due())
            assert office.tried == []
            assert waiting(world) == {}


def test_of_several_processes_one_sends_also_when_a_mail_takes_longer_than_a_lease(
    postgres: PostgresServer, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time passes only while the lease is renewed: however slow the machine is, it is never late."""
    monkeypatch.setattr(role_module, "LEASE_RENEWAL_MS", 10)
    monkeypatch.setattr(mail_sender, "_LOOK_EVERY_S", 0.01)
    has_begun, may_answer = threading.Event(), threading.Event()

    async def slow(_server: SMTP, _address: str) -> str:
        has_begun.set()
        await until(may_answer.is_set)
        return "250 OK"

    office.at_mail = slow
    addresses = [f"person{number}@home.example" for number in range(8)]
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(in_process(postgres, shops=0, people=0, services=2))
        for address in addresses:
            post(world, address)
        senders = [stack.enter_context(sender_of(world, office.port, context=one)) for one in world.services]

        async def is_renewed() -> bool:
            lease = await world.context.store.find(Tables.leases, "mail sender")
            return lease is not None and lease.until == world.now_ms() + LEASE_MS

        async def is_all_sent() -> bool:
            return await world.context.store.select(queries.DUE_MAIL, world.now_ms()) == []

        async def scene() -> None:
            tasks = [asyncio.create_task(sender.run()) for sender in senders]
            await until(has_begun.is_set)
            for _ in range(4):  # Twice as long as a lease.
                await until(is_renewed)
                world.clock.advance(LEASE_MS // 2)
            may_answer.set()
            await until(is_all_sent)
            assert not any(task.done() for task in tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        world.run(scene())
    assert sorted(office.recipients) == addresses


def test_a_sender_that_is_stopped_between_two_mails_leaves_no_line_open(world: InProcess, office: PostOffice) -> None:
    has_begun, may_answer = threading.Event(), threading.Event()
    closed = []

    class Watched(SmtpLine):
        def close(self) -> None:
            super().close()
            closed.append(self)

    async def slow(_server: SMTP, _address: str) -> str:
        has_begun.set()
        await until(may_answer.is_set)
        return "250 OK"

    async def scene() -> None:
        task = asyncio.create_task(stopped.run())
        await until(has_begun.is_set)
        task.cancel()
        may_answer.set()
        await asyncio.gather(task, return_exceptions=True)

    office.at_mail = slow
    before = set(threading.enumerate())
    with sender_of(world, office.port, Watched) as stopped:
        post(world, "sara@home.example")
        post(world, "omar@home.example")
        world.run(scene())
    wait_until(lambda: not {thread for thread in threading.enumerate() if thread.name == "mail"} - before)
    assert closed
    office.at_mail = saying("250 OK")
    with sender_of(world, office.port) as successor:
        world.run(successor.send_due())
    assert sorted(office.recipients) == ["omar@home.example", "sara@home.example"]


def test_nothing_that_a_mail_or_the_server_says_is_logged(
    world: InProcess, office: PostOffice, sender: MailSender, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = "sara@home.example is unknown, your code 482913, h3gTQ0yZpEJp"
    for where in ("at_recipient", "at_mail"):
        for answer in (saying(f"550 5.1.1 {said}"), saying(f"451 {said}"), saying(f"554 5.7.1 {said}"), hanging_up):
            setattr(office, where, answer)
            post(world, "sara@home.example")
            world.run(sender.send_due())
            world.clock.advance(DAY_MS)
        setattr(office, where, saying("250 OK"))
    post(world, "sara@home.example", "paid", words={**PAID, "currency": f"{LINK} {CODE}"})
    world.run(sender.send_due())
    with sender_of(world, 1) as unreachable:
        post(world, "sara@home.example")
        world.run(unreachable.send_due())
    # All but what the test's own server logs.
    records = [record for record in caplog.records if record.name != "mail.log"]
    assert {record.name for record in records} >= {"qirsh.workers.mail_sender"}
    logged = repr([(record.getMessage(), record.__dict__) for record in records])
    for secret in ("sara", "home.example", CODE, "h3gTQ0yZpEJp"):
        assert secret not in logged, secret
