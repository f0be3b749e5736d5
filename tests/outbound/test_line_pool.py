"""Connections that are kept, closed and opened again, and who is at the other end of them."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from qirsh.outbound.line import Answer, LineFault
from qirsh.outbound.line_pool import LinePool, make_tls_context
from qirsh.outbound.post import make_request
from tests.live import free_port
from tests.outbound.receiver import (
    BODY,
    HEADERS,
    OK,
    ON_LOOPS,
    Authority,
    Receiver,
    Sender,
    Visit,
    receiving,
    run,
    saying,
    target_of,
    then_hanging,
)
from tests.waiting import NEVER_S, until

pytestmark = ON_LOOPS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


async def ask(sender: Sender, receiver: Receiver, *, left_s: float) -> Answer:
    """Without the judgement of a try."""
    target = target_of(f"http://127.0.0.1:{receiver.port}/")
    request = make_request(target, HEADERS, BODY)
    deadline = asyncio.get_running_loop().time() + left_s
    return await sender.lines.ask(target, await sender.guard.addresses(target), request, deadline=deadline)


def test_a_connection_is_kept_for_the_next_request(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender()
            for _ in range(5):
                assert (await sender.to(receiver)).is_delivered
            assert (receiver.visits, sender.lines.idle, sender.lines.open) == (1, 1, 1)
            sender.lines.close()
            await until(lambda: sender.lines.open == 0)
            assert sender.lines.idle == 0

    run(loop, play())


def test_requests_at_once_have_a_connection_each(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender()
            outcomes = await asyncio.gather(*(sender.to(receiver) for _ in range(8)))
            assert all(outcome.is_delivered for outcome in outcomes)
            assert (receiver.visits, sender.lines.idle) == (8, 8)
            sender.lines.close()

    run(loop, play())


def test_a_connection_that_shall_end_or_says_too_much_is_not_kept(loop: str, subtests: pytest.Subtests) -> None:
    async def play(answer: bytes) -> None:
        async with receiving(saying(answer)) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            await until(lambda: sender.lines.open == 0)
            assert (await sender.to(receiver)).is_delivered
            assert receiver.visits == 2

    for answer in (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        OK + OK,
        OK + b"x",
    ):
        with subtests.test(str(answer)):
            run(loop, play(answer))


def test_who_speaks_without_being_asked_is_cut(loop: str) -> None:
    async def play() -> None:
        speak = asyncio.Event()

        async def chatter(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            await speak.wait()
            await visit.say(OK)
            await asyncio.sleep(3600)

        async with receiving(chatter) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            assert sender.lines.idle == 1
            speak.set()
            await until(lambda: sender.lines.open == 0)
            assert sender.lines.idle == 0

    run(loop, play())


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_kept_connection_that_was_closed_is_no_fault_of_the_try(loop: str, *, is_reset: bool) -> None:
    async def play() -> None:
        async def once(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            if visit.number == 1:  # The next request reaches a connection that closes just then.
                await visit.request()
                if is_reset:
                    visit.reset()
                return
            while await visit.request():
                await visit.say(OK)

        async with receiving(once) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            assert (await sender.to(receiver)).is_delivered
            assert receiver.visits == 2
            sender.lines.close()

    run(loop, play())


def test_it_is_tried_once_more_only_and_on_a_new_connection(loop: str) -> None:
    async def play() -> None:
        first = asyncio.Barrier(3)

        async def play_visit(visit: Visit) -> None:
            await visit.request()
            if visit.number <= 3:
                await first.wait()
                await visit.say(OK)
                await visit.request()  # And then it closes without an answer, as all later ones do at once.

        async with receiving(play_visit) as receiver:
            sender = Sender()
            outcomes = await asyncio.gather(*(sender.to(receiver) for _ in range(3)))
            assert all(outcome.is_delivered for outcome in outcomes)
            assert sender.lines.idle == 3
            assert (await sender.to(receiver)).reason == "no_connection"
            assert receiver.visits == 4
            assert sender.lines.idle == 2

    run(loop, play())


def test_an_answer_that_broke_off_on_a_kept_connection_is_not_asked_for_again(loop: str) -> None:
    async def play() -> None:
        async def half(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            await visit.request()
            await visit.say(OK[:20])

        async with receiving(half) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            assert (await sender.to(receiver)).reason == "bad_answer"
            assert receiver.visits == 1

    run(loop, play())


def test_a_kept_connection_has_the_deadline_of_each_request(loop: str) -> None:
    async def play() -> None:
        async def slow(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            await visit.request()
            await asyncio.sleep(3600)

        async with receiving(slow) as receiver:
            sender = Sender(answer_s=0.1, kept_s=3600)
            assert (await ask(sender, receiver, left_s=NEVER_S)).status == 200
            assert (await sender.to(receiver)).reason == "timeout"

    run(loop, play())


def test_a_try_that_has_waited_before_has_less_time_on_a_kept_connection(loop: str) -> None:
    async def play() -> None:
        async def slow(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            await visit.request()
            await asyncio.sleep(3600)

        async with receiving(slow) as receiver:
            sender = Sender(answer_s=3600, kept_s=3600)
            assert (await sender.to(receiver)).is_delivered
            with pytest.raises(LineFault) as failed:
                await ask(sender, receiver, left_s=0.05)
            assert failed.value.fault == "timeout"

    run(loop, play())


def test_a_try_whose_time_is_over_before_it_dials_has_timed_out(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender()
            with pytest.raises(LineFault) as failed:
                await ask(sender, receiver, left_s=-1)
            assert (failed.value.fault, sender.lines.open, receiver.visits) == ("timeout", 0, 0)

    run(loop, play())


def test_a_connection_that_closes_while_it_is_taken_is_replaced(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            [line] = sender.lines._lines  # noqa: SLF001 - the moment between its closing and the news of it
            line.close()
            assert (await sender.to(receiver)).is_delivered
            assert receiver.visits == 2
            sender.lines.close()

    run(loop, play())


def test_only_the_beginning_of_a_body_is_kept(loop: str) -> None:
    async def play() -> None:
        chunks = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
        answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks * 60 + b"0\r\n\r\n"
        async with receiving(saying(answer)) as receiver:
            sender = Sender()
            assert 4000 <= len((await ask(sender, receiver, left_s=NEVER_S)).body) <= 8000
            sender.lines.close()

    run(loop, play())


def test_connections_are_closed_after_a_while_without_use(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender(kept_s=0.05)
            assert (await sender.to(receiver)).is_delivered
            await until(lambda: sender.lines.open == 0)
            assert sender.lines.idle == 0
            sender = Sender(kept_s=0.05, answer_s=0.01)  # The timer looks more than once.
            assert (await ask(sender, receiver, left_s=NEVER_S)).status == 200
            await until(lambda: sender.lines.open == 0)

    run(loop, play())


def test_so_many_are_kept_and_the_longest_idle_goes_first(loop: str) -> None:
    async def play() -> None:
        async with contextlib.AsyncExitStack() as stack:
            receivers = [await stack.enter_async_context(receiving(saying(OK))) for _ in range(4)]
            sender = Sender(kept_max=2)
            for receiver in receivers:
                assert (await sender.to(receiver)).is_delivered
                assert sender.lines.idle <= 2
            await sender.to(receivers[3])
            await sender.to(receivers[2])
            assert [receiver.visits for receiver in receivers] == [1, 1, 1, 1]
            await sender.to(receivers[0])
            assert receivers[0].visits == 2
            await until(lambda: sender.lines.open == 2)
            sender.lines.close()

    run(loop, play())


def test_a_try_that_is_given_up_takes_its_connection_along(loop: str) -> None:
    async def play() -> None:
        async with receiving(then_hanging(b"")) as receiver:
            sender = Sender(answer_s=3600)
            task = asyncio.create_task(sender.to(receiver))
            await until(lambda: receiver.visits == 1)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await until(lambda: sender.lines.open == 0)
            assert sender.lines.idle == 0

    run(loop, play())


def test_a_slow_receiver_delays_no_other(loop: str) -> None:
    async def play() -> None:
        async with receiving(then_hanging(b"")) as slow, receiving(saying(OK)) as healthy:
            sender = Sender(answer_s=3600)
            waiting = [asyncio.create_task(sender.to(slow)) for _ in range(30)]
            for _ in range(100):
                assert (await sender.to(healthy)).is_delivered
            assert not any(task.done() for task in waiting)
            sender.lines.close()
            assert {outcome.reason for outcome in await asyncio.gather(*waiting)} == {"no_connection"}

    run(loop, play())


def test_once_the_pool_is_closed_nothing_is_sent_any_more(loop: str) -> None:
    async def play() -> None:
        asked = asyncio.Event()

        async def second_hangs(visit: Visit) -> None:
            await visit.request()
            await visit.say(OK)
            await visit.request()
            asked.set()
            await asyncio.sleep(3600)

        async with receiving(second_hangs) as receiver:
            sender = Sender()
            assert (await sender.to(receiver)).is_delivered
            task = asyncio.create_task(sender.to(receiver))
            await asked.wait()
            sender.lines.close()  # It is a kept connection that closes unanswered, and all the same not dialled again.
            assert (await task).reason == "no_connection"
            assert (await sender.to(receiver)).reason == "no_connection"
            assert receiver.visits == 1
            await until(lambda: sender.lines.open == 0)

    run(loop, play())


def test_a_name_that_moves_is_dialled_anew_and_its_old_connection_left_alone(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK), host="127.0.0.1") as old:
            sender = Sender(names={"shop.example": ["127.0.0.1"]})
            url = f"http://shop.example:{old.port}/"
            assert (await sender.post(url)).is_delivered
            sender.names["shop.example"] = ["127.0.0.2"]  # Nobody listens there.
            assert (await sender.post(url)).reason == "no_connection"
            sender.names["shop.example"] = ["192.168.0.1"]  # Rebinding: the kept connection does not help it.
            assert (await sender.post(url)).reason == "no_public_address"
            assert old.visits == 1
            sender.lines.close()

    run(loop, play())


def test_the_address_that_was_checked_is_dialled_whatever_the_name_says_later(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            sender = Sender()
            target = target_of(f"http://rebinding.example:{receiver.port}/")
            sender.names["rebinding.example"] = ["127.0.0.1"]
            checked = await sender.guard.addresses(target)
            sender.names["rebinding.example"] = ["10.0.0.1"]
            running = asyncio.get_running_loop()
            monkeypatch.setattr("socket.getaddrinfo", None)  # Whoever asks again falls over it.
            request = make_request(target, HEADERS, BODY)
            answer = await sender.lines.ask(target, checked, request, deadline=running.time() + NEVER_S)
            assert (answer.status, receiver.visits) == (200, 1)
            sender.lines.close()

    run(loop, play())


def test_the_next_address_is_dialled_where_the_first_does_not_answer(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK), host="127.0.0.3") as receiver:
            sender = Sender(names={"shop.example": ["127.0.0.1", "127.0.0.2", "127.0.0.3"]})
            assert (await sender.post(f"http://shop.example:{receiver.port}/")).is_delivered
            sender.lines.close()
            names = ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4", "127.0.0.3"]
            sender = Sender(names={"shop.example": names})
            outcome = await sender.post(f"http://shop.example:{receiver.port}/")
            assert (outcome.reason, receiver.visits) == ("no_connection", 1)  # Four are enough.

    run(loop, play())


def test_over_tls_the_name_is_told_checked_and_the_connection_kept(loop: str, authority: Authority) -> None:
    async def play() -> None:
        told = []
        server = authority.server("shop.example")
        server.sni_callback = lambda _socket, name, _context: told.append(name)
        hosts = []

        async def keep(visit: Visit) -> None:
            while request := await visit.request():
                hosts.append(request.split(b"\r\n")[1])
                await visit.say(OK)

        async with receiving(keep, tls=server) as receiver:
            sender = Sender(tls=authority.client(), names={"shop.example": ["127.0.0.1"]})
            for _ in range(3):
                assert (await sender.post(f"https://shop.example:{receiver.port}/")).is_delivered
            assert (told, receiver.visits) == (["shop.example"], 1)
            assert hosts == [b"host: shop.example:%d" % receiver.port] * 3
            sender.lines.close()
            await until(lambda: sender.lines.open == 0)

    run(loop, play())


def test_a_connection_of_one_name_is_not_used_for_another(loop: str, authority: Authority) -> None:
    async def play() -> None:
        async with receiving(saying(OK), tls=authority.server("shop.example")) as receiver:
            names = {"shop.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]}
            sender = Sender(tls=authority.client(), names=names)
            assert (await sender.post(f"https://shop.example:{receiver.port}/")).is_delivered
            assert (await sender.post(f"https://other.example:{receiver.port}/")).reason == "bad_certificate"
            sender.lines.close()

    run(loop, play())


def test_an_address_with_a_certificate_of_its_own_is_fine(loop: str, authority: Authority) -> None:
    async def play() -> None:
        async with receiving(saying(OK), tls=authority.server("127.0.0.1")) as receiver:
            sender = Sender(tls=authority.client())
            assert (await sender.post(f"https://127.0.0.1:{receiver.port}/")).is_delivered
            sender.lines.close()

    run(loop, play())


@pytest.mark.parametrize("fault", ["expired", "another name", "unknown authority"])
def test_a_certificate_that_is_not_good_is_told_so(loop: str, fault: str, authority: Authority, tmp_path: Path) -> None:
    signer = Authority(tmp_path) if fault == "unknown authority" else authority
    name = "other.example" if fault == "another name" else "shop.example"
    server = signer.server(name, days=-1 if fault == "expired" else 10)

    async def play() -> None:
        async with receiving(saying(OK), tls=server) as receiver:
            sender = Sender(tls=authority.client(), names={"shop.example": ["127.0.0.1"]})
            outcome = await sender.post(f"https://shop.example:{receiver.port}/")
            assert (outcome.reason, outcome.status, outcome.excerpt) == ("bad_certificate", None, "")
            assert sender.lines.open == 0

    run(loop, play())


def test_who_speaks_no_tls_or_only_an_old_one_is_not_reached(loop: str, authority: Authority) -> None:
    old = authority.server("shop.example")
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1

    async def play() -> None:
        async def blurt(visit: Visit) -> None:
            await visit.say(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")

        for tls in (None, old):
            async with receiving(blurt, tls=tls) as receiver:
                sender = Sender(tls=authority.client(), names={"shop.example": ["127.0.0.1"]})
                outcome = await sender.post(f"https://shop.example:{receiver.port}/")
                assert outcome.reason == "no_connection"
                assert sender.lines.open == 0

    run(loop, play())


def test_a_handshake_that_never_ends_is_left_in_time(loop: str, authority: Authority) -> None:
    async def play() -> None:
        async def silent(_visit: Visit) -> None:
            await asyncio.sleep(3600)

        async with receiving(silent) as receiver:
            sender = Sender(tls=authority.client(), names={"shop.example": ["127.0.0.1"]}, connect_s=0.1)
            outcome = await sender.post(f"https://shop.example:{receiver.port}/")
            assert (outcome.reason, sender.lines.open) == ("no_connection", 0)

    run(loop, play())


def test_certificates_are_always_checked(loop: str) -> None:
    context = make_tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    with pytest.raises(AssertionError):
        LinePool(tls=context)
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(AssertionError):
        LinePool(tls=context)
    assert loop


def test_many_kinds_of_failure_leave_nothing_open(loop: str) -> None:
    async def play() -> None:
        async with (
            receiving(then_hanging(b"")) as silent,
            receiving(saying(b"nonsense")) as mad,
            receiving(saying(OK)) as healthy,
        ):
            sender, hasty = Sender(kept_s=0.05), Sender(answer_s=0.1)
            ports = [mad.port, healthy.port, free_port()]
            tries = [sender.post(f"http://127.0.0.1:{port}/") for port in ports * 10]
            outcomes = await asyncio.gather(*tries, *(hasty.to(silent) for _ in range(10)))
            reasons = [outcome.reason for outcome in outcomes]
            assert reasons == ["bad_answer", None, "no_connection"] * 10 + ["timeout"] * 10
            await until(lambda: sender.lines.open == hasty.lines.open == 0)
            assert sender.lines.idle == 0

    run(loop, play())
