"""One try, against receivers that behave and such that do not: an outcome within its bounds, whatever they do."""

import asyncio
import gzip
import itertools
import tracemalloc
from typing import Final

import pytest

from qirsh.outbound.excerpt import make_excerpt
from qirsh.outbound.post import Outcome, make_request
from tests.live import free_port
from tests.outbound.receiver import (
    BODY,
    HEADERS,
    OK,
    ON_LOOPS,
    Play,
    Sender,
    Visit,
    receiving,
    run,
    saying,
    target_of,
    then_closing,
    then_hanging,
)
from tests.waiting import NEVER_S, SkippingLoop, until

pytestmark = ON_LOOPS

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


def outcome_of(loop: str, play: Play, *, answer_s: float = NEVER_S) -> Outcome:
    """Of one try."""
    outcomes = []

    async def whole() -> None:
        async with receiving(play) as receiver:
            sender = Sender(answer_s=answer_s)
            outcomes.append(await sender.to(receiver))
            sender.lines.close()

    run(loop, whole())
    return outcomes[0]


def judged(outcome: Outcome) -> tuple[str | None, int | None]:
    return (outcome.reason, outcome.status)


def endless(head: bytes, piece: bytes) -> Play:
    async def play(visit: Visit) -> None:
        await visit.request()
        await visit.say(head)
        while True:
            await visit.say(piece)
            await asyncio.sleep(0)  # Otherwise nobody reads before the system can take no more.

    return play


def test_the_request_is_whole_and_written_as_others_write_it(loop: str) -> None:
    async def play() -> None:
        requests = []

        async def keep(visit: Visit) -> None:
            requests.append(await visit.request())
            await visit.say(OK)

        async with receiving(keep) as receiver:
            sender = Sender()
            outcome = await sender.to(receiver)
            assert (outcome.is_delivered, judged(outcome), outcome.excerpt) == (True, (None, 200), "ok")
            assert requests == [
                b"POST /hooks HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\n"
                b"webhook-id: evt_1\r\ncontent-length: %d\r\n\r\n%b" % (receiver.port, len(BODY), BODY)
            ]
            sender.lines.close()

    run(loop, play())


def test_a_field_of_two_lines_is_never_written(loop: str) -> None:
    for value in ("a\r\nx: y", "a\ny", "a\r"):
        with pytest.raises(AssertionError):
            make_request(target_of("https://shop.example/"), {**HEADERS, "webhook-id": value}, BODY)
    assert loop


JUDGED: Final = {
    None: (200, 201, 202, 204, 299),
    "redirect": (300, 301, 302, 303, 304, 307, 308),
    "status": (400, 401, 404, 410, 429, 500, 503, 599),
}


def test_2xx_is_delivered_and_all_else_is_not(loop: str, subtests: pytest.Subtests) -> None:
    for reason, status in [(reason, status) for reason, statuses in JUDGED.items() for status in statuses]:
        with subtests.test(str(status)):
            outcome = outcome_of(loop, saying(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status))
            assert judged(outcome) == (reason, status)
            assert outcome.is_delivered == (reason is None)


def test_a_redirect_to_an_inner_address_is_not_followed(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as inner:
            moved = b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:%d/\r\ncontent-length: 0\r\n\r\n" % inner.port
            async with receiving(saying(moved)) as receiver:
                sender = Sender()
                assert judged(await sender.to(receiver)) == ("redirect", 307)
                assert inner.visits == 0
                sender.lines.close()

    run(loop, play())


FORMS: Final = (
    CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
    CHUNKED + b"1;a=b\r\no\r\n1\r\nk\r\n0\r\ntrailer: x\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\nok",
    HEAD + b"connection: close\r\n\r\nok",
    HEAD + b"upgrade: h2,h2c\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\nok",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK,
    b"HTTP/1.1 103 X\r\nretry-after: 1\r\n\r\n" * 8 + OK,
    OK + OK,
    OK + b"nonsense",
)


def test_answers_of_every_form_are_read(loop: str, subtests: pytest.Subtests) -> None:
    for answer in FORMS:
        with subtests.test(str(answer[:60])):
            outcome = outcome_of(loop, then_closing(answer))
            assert (judged(outcome), outcome.excerpt) == ((None, 200), "ok")


NONSENSE: Final[tuple[tuple[bytes, int | None], ...]] = (
    (b"nonsense\r\n\r\n", None),
    (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", None),
    (b"HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n", None),
    (b"HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n", None),
    (b"HTTP/1.1 99 X\r\ncontent-length: 0\r\n\r\n", None),
    (b"HTTP/1.1 2000 X\r\ncontent-length: 0\r\n\r\n", None),
    (b"HTTP/1.1 101 X\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", None),
    (b"HTTP/1.1 101 X\r\n\r\n" + OK, None),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + OK, None),
    (HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok", None),
    (HEAD + b"content-length: -1\r\n\r\n", None),
    (HEAD + b"content-length: 99999999999999999999999\r\n\r\n", None),
    (HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok", None),
    (HEAD + b"x: y\r\n" * 65 + b"\r\n", None),
    (HEAD + b"x: " + b"y" * 17_000 + b"\r\n\r\n", None),
    (HEAD + b"a b: c\r\n\r\n", None),
    (CHUNKED + b"zz\r\nok\r\n", 200),
    (CHUNKED + b"2\r\nokok\r\n0\r\n\r\n", 200),
    (CHUNKED + b"ffffffffffffffffff\r\nok", 200),
    (CHUNKED + b"2;" + b"x" * 200_000 + b"\r\nok\r\n0\r\n\r\n", 200),
    (CHUNKED + b"1\r\nx\r\n" * 60_000 + b"0\r\n\r\n", 200),
    (CHUNKED + b"0\r\n" + b"x: y\r\n" * 65 + b"\r\n", 200),
    (HEAD + b"content-length: 65537\r\n\r\n" + b"x" * 65_537, 200),
    # Broken off.
    (HEAD[:9], None),
    (HEAD, None),
    (HEAD + b"content-length: 3\r\n\r\nok", 200),
    (CHUNKED + b"3\r\nok", 200),
    (CHUNKED + b"2\r\nok\r\n", 200),
)


def test_nonsense_too_much_and_half_an_answer_are_bad_answers(loop: str, subtests: pytest.Subtests) -> None:
    for answer, status in NONSENSE:
        with subtests.test(str(answer[:60])):
            assert judged(outcome_of(loop, then_closing(answer))) == ("bad_answer", status)


def test_a_body_of_64_kib_is_read_to_its_end(loop: str) -> None:
    answer = HEAD + b"content-length: 65536\r\n\r\n" + b"x" * 65_536
    outcome = outcome_of(loop, saying(answer))
    assert (judged(outcome), outcome.excerpt) == ((None, 200), "x" * 1000)


ENDLESS: Final[tuple[tuple[bytes, bytes, int | None], ...]] = (
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n", None),
    (HEAD, b"x: y\r\n" * 10, None),
    (HEAD + b"x: ", b"y" * 4096, None),
    (b"HTTP/1.1 200 ", b"y" * 4096, None),
    (b"\r\n", b"\r\n" * 4096, None),
    (HEAD + b"\r\n", b"x" * 4096, 200),
    (HEAD + b"content-length: 1000000000000\r\n\r\n", b"x" * 65_536, 200),
    (CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n", 200),
    (CHUNKED, b"1\r\nx\r\n" * 500, 200),
    (CHUNKED + b"1;", b"x" * 4096, 200),
    (CHUNKED + b"0\r\nx: ", b"x" * 4096, 200),
)


def test_an_answer_without_end_is_cut(loop: str, subtests: pytest.Subtests) -> None:
    for head, piece, status in ENDLESS:
        with subtests.test(f"{head!r} {piece[:30]!r}"):
            assert judged(outcome_of(loop, endless(head, piece))) == ("bad_answer", status)


@pytest.mark.parametrize("piece", [b"x" * 65_536, b"1\r\nx\r\n" * 500])
def test_answers_without_end_take_little_memory(loop: str, piece: bytes) -> None:
    async def play() -> None:
        async with receiving(endless(CHUNKED if piece.startswith(b"1") else HEAD + b"\r\n", piece)) as receiver:
            sender = Sender()
            await sender.to(receiver)
            tracemalloc.start()
            try:
                for _ in range(8):
                    await sender.to(receiver)
                kept, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert kept < 8 * 65_536
            assert sender.lines.idle == 0

    run(loop, play())


LEFT: Final[tuple[tuple[bytes, int | None], ...]] = (
    (b"", None),
    (b"HTTP/1.1 100 Continue\r\n\r\n", None),
    (HEAD, None),
    (HEAD + b"content-length: 3\r\n\r\nok", 200),
    (HEAD + b"\r\nok", 200),
)


def test_who_never_ends_an_answer_is_left_at_the_deadline(loop: str, subtests: pytest.Subtests) -> None:
    """However much of it has come; where nothing has, also on the loop of the service, which nobody can hurry."""

    async def play(first: bytes, status: int | None) -> None:
        running = asyncio.get_running_loop()
        assert isinstance(running, SkippingLoop)
        async with receiving(then_hanging(first)) as receiver:
            sender = Sender(answer_s=NEVER_S)
            trying = asyncio.create_task(sender.to(receiver))
            await until(lambda: receiver.visits == 1 and sender.heard_bytes() == len(first))
            running.skip(NEVER_S - 200)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not trying.done()
            running.skip(201)
            assert judged(await trying) == ("timeout", status)

    for first, status in LEFT:
        with subtests.test(str(first)), asyncio.Runner(loop_factory=SkippingLoop) as runner:
            runner.run(play(first, status))
    assert judged(outcome_of(loop, then_hanging(b""), answer_s=0.1)) == ("timeout", None)


def test_who_speaks_a_byte_at_a_time_is_left_at_the_deadline(subtests: pytest.Subtests, loop: str) -> None:
    async def play(answer: bytes) -> None:
        running = asyncio.get_running_loop()
        assert isinstance(running, SkippingLoop)
        said = asyncio.Event()

        async def drop_by_drop(visit: Visit) -> None:
            await visit.request()
            for byte in itertools.cycle(answer):
                said.clear()
                await visit.say(bytes([byte]))
                await said.wait()

        async with receiving(drop_by_drop) as receiver:
            sender = Sender(answer_s=NEVER_S)
            trying = asyncio.create_task(sender.to(receiver))
            for count in range(1, 19):  # Each is a sign of life, and none gives it more time.
                await until(lambda count=count: sender.heard_bytes() == count or trying.done())  # type: ignore[misc]
                assert not trying.done()
                running.skip(NEVER_S / 18)
                await asyncio.sleep(0)
                said.set()
            assert judged(await trying) == ("timeout", None)

    assert loop
    for answer in (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 1000, b"\r\n"):
        with subtests.test(str(answer[:20])), asyncio.Runner(loop_factory=SkippingLoop) as runner:
            runner.run(play(answer))


def test_a_receiver_that_does_not_read_is_left_at_the_deadline(loop: str) -> None:
    async def play() -> None:
        async def deaf(_visit: Visit) -> None:
            await asyncio.sleep(3600)

        async with receiving(deaf) as receiver:
            sender = Sender(answer_s=0.1)
            outcome = await sender.post(f"http://127.0.0.1:{receiver.port}/", b"x" * 30_000_000)
            assert judged(outcome) == ("timeout", None)

    run(loop, play())


def test_who_answers_before_it_has_read_all_is_heard_and_not_kept(loop: str) -> None:
    async def play() -> None:
        async def hasty(visit: Visit) -> None:
            await visit.say(b"HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n")
            await asyncio.sleep(3600)

        async with receiving(hasty) as receiver:
            sender = Sender()
            # The answer may come before the request is written at all, which is no answer to it.
            outcome = await sender.post(f"http://127.0.0.1:{receiver.port}/", b"x" * 30_000_000)
            assert judged(outcome) in {("status", 413), ("no_connection", None)}
            assert sender.lines.idle == 0

    run(loop, play())


def test_a_line_torn_in_the_middle_of_a_body_is_a_bad_answer(loop: str) -> None:
    said = HEAD + b"content-length: 100\r\n\r\nok"

    async def play() -> None:
        async def tear(visit: Visit) -> None:
            await visit.request()
            await visit.say(said)
            await until(lambda: sender.heard_bytes() == len(said))  # Otherwise the reset overtakes what was said.
            visit.reset()

        sender = Sender()
        async with receiving(tear) as receiver:
            assert judged(await sender.to(receiver)) == ("bad_answer", 200)

    run(loop, play())


def test_who_closes_without_a_word_was_not_reached(loop: str) -> None:
    async def close(visit: Visit) -> None:
        await visit.request()
        visit.reset()

    assert judged(outcome_of(loop, close)) == ("no_connection", None)
    assert judged(outcome_of(loop, then_closing(b""))) == ("no_connection", None)

    async def slam(visit: Visit) -> None:
        visit.reset()
        await asyncio.sleep(0)

    assert judged(outcome_of(loop, slam)) == ("no_connection", None)


def test_a_port_where_nobody_listens_was_not_reached(loop: str) -> None:
    async def play() -> None:
        assert judged(await Sender().post(f"http://127.0.0.1:{free_port()}/")) == ("no_connection", None)

    run(loop, play())


def test_a_name_that_leads_to_a_public_and_a_private_address_is_not_dialled(loop: str) -> None:
    async def play() -> None:
        async with receiving(saying(OK)) as receiver:
            # 127.0.0.1 is the operator's own here: the other one is nobody's to open.
            sender = Sender(names={"shop.example": ["127.0.0.1", "10.0.0.1"], "own.example": ["127.0.0.1"]})
            outcome = await sender.post(f"http://shop.example:{receiver.port}/")
            assert judged(outcome) == ("no_public_address", None)
            assert judged(await sender.post("http://unknown.example/")) == ("no_public_address", None)
            assert receiver.visits == 0
            assert (await sender.post(f"http://own.example:{receiver.port}/")).is_delivered
            sender.lines.close()

    run(loop, play())


def test_a_compressed_body_is_not_opened(loop: str) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    assert 16_384 < len(bomb) < 65_536
    head = HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
    outcome = outcome_of(loop, saying(head + bomb))
    assert judged(outcome) == (None, 200)
    assert outcome.excerpt == make_excerpt(bomb)
    assert len(outcome.excerpt) <= 1000


def test_what_a_failing_receiver_says_is_kept_with_when_to_come_again(loop: str) -> None:
    answer = b"HTTP/1.1 503 X\r\nRetry-After: 120\r\ncontent-length: 6\r\n\r\nlater\0"
    outcome = outcome_of(loop, saying(answer))
    assert (outcome.excerpt, outcome.retry_after_ms) == ("later\ufffd", 120_000)


def test_a_delivered_one_is_not_asked_for_again(loop: str) -> None:
    answer = HEAD + b"retry-after: 5\r\ncontent-length: 0\r\n\r\n"
    assert outcome_of(loop, saying(answer)).retry_after_ms is None
