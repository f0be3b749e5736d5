"""The control socket: whose path it is, and what a close waits for."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.limits import EMAIL_FAILURES_MAX
from qirsh.domain.tables import Tables
from qirsh.web.auth.recovery_codes import recovery_hashes
from qirsh.web.http.rate_limit import RateLimits
from qirsh.web.operator import control as operator_control
from qirsh.web.operator.control import Control, OperatorReply, OperatorRequest, perform
from tests.live import PASSWORD, PIN, InProcess, in_process
from tests.waiting import NEVER_S, SkippingLoop

T = TypeVar("T")

ADD = OperatorRequest("person add", {"email": "a@home.example", "name": "A", "password": PASSWORD, "pin": PIN})


async def asked(path: Path, wish: OperatorRequest) -> OperatorReply:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(msgspec.json.encode(wish) + b"\n")
    reply = msgspec.json.decode(await reader.readline(), type=OperatorReply)
    writer.close()
    await writer.wait_closed()
    return reply


def in_skipping_loop(scene: Callable[[SkippingLoop], Awaitable[T]]) -> T:
    """Play it in a loop of its own, which it moves ahead."""
    loop = SkippingLoop()

    async def played() -> T:
        return await scene(loop)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(played())


async def begun(control: Control) -> None:
    """Until somebody is being served."""
    while not control.under_way:  # noqa: ASYNC110 - nobody would set an event but for this
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def desk() -> Iterator[InProcess]:
    with in_process(shops=0, people=0) as world:
        yield world


def test_a_successor_takes_the_path_over_and_keeps_it_when_the_other_closes(desk: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    old, new = Control(desk.context, path), Control(desk.context, path)

    async def scene() -> None:
        await old.open()
        await new.open()
        assert (await asked(path, OperatorRequest("dance", {}))).code == "unknown_act"
        await old.close()
        assert (await asked(path, OperatorRequest("dance", {}))).code == "unknown_act"
        await new.close()

    desk.run(scene())
    assert list(tmp_path.iterdir()) == []


def test_an_act_under_way_is_answered_before_a_close_ends(desk: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    control = Control(desk.context, path)

    async def scene() -> None:
        await control.open()
        ask = asyncio.create_task(desk_wish(desk, path))
        await begun(control)
        await control.close()
        assert not control.under_way
        assert (await ask).done

    desk.run(scene())


async def desk_wish(desk: InProcess, path: Path) -> OperatorReply:
    email = desk.operators[0].email
    return await asked(path, msgspec.structs.replace(ADD, email=email, password=PASSWORD, totp=desk.code_of(email)))


def test_a_reply_that_breaks_in_the_middle_ends_the_connection_and_what_it_came_from(
    desk: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_ended = []

    async def broken() -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
            raise LookupError("nobody foresaw it")
        finally:
            has_ended.append("broken")

    async def whole() -> AsyncGenerator[bytes, None]:
        try:
            yield b"two"
            yield b"three"
        finally:
            has_ended.append("whole")

    async def performed(
        _context: object, _wish: object, _user: object, follow: Callable[[AsyncGenerator[bytes, None]], None]
    ) -> OperatorReply:
        other = whole()
        await anext(other)
        follow(broken())
        follow(other)
        return OperatorReply(code="ok")

    async def scene() -> bytes:
        control = Control(desk.context, tmp_path / "control")
        await control.open()
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "control"))
        writer.write(msgspec.json.encode(ADD) + b"\n")
        await begun(control)
        [served] = control.under_way
        said = await reader.read()
        writer.close()
        with pytest.raises(LookupError):
            await served
        await control.close()
        return said

    monkeypatch.setattr(operator_control, "perform", performed)
    assert asyncio.run(scene()).endswith(b"3\none")
    assert has_ended == ["broken", "whole"]


def test_a_client_that_stood_still_before_it_spoke_is_heard(
    desk: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator_control, "_LINE_S_MAX", 3600)
    path = tmp_path / "control.sock"
    control = Control(desk.context, path)

    async def scene(loop: SkippingLoop) -> OperatorReply:
        await control.open()
        reader, writer = await asyncio.open_unix_connection(path)
        await begun(control)
        loop.skip(2400)
        await asyncio.sleep(0)
        writer.write(b'{"act": "dance", "params": {}}\n')
        reply = msgspec.json.decode(await reader.readline(), type=OperatorReply)
        writer.close()
        await control.close()
        return reply

    assert in_skipping_loop(scene).code == "unknown_act"


def test_a_client_that_says_nothing_does_not_hold_up_a_close_for_long(
    desk: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, seconds in (("_LINE_S_MAX", NEVER_S), ("_FINISH_S_MAX", NEVER_S), ("_LAST_LINE_S_MAX", 600)):
        monkeypatch.setattr(operator_control, limit, seconds)
    path = tmp_path / "control.sock"
    control = Control(desk.context, path)

    async def scene(loop: SkippingLoop) -> OperatorReply:
        await control.open()
        reader, writer = await asyncio.open_unix_connection(path)
        await begun(control)
        closing = asyncio.create_task(control.close())
        await asyncio.sleep(0)  # It waits now.
        loop.skip(600)
        await closing
        reply = msgspec.json.decode(await reader.readline(), type=OperatorReply)
        writer.close()
        return reply

    assert in_skipping_loop(scene).detail == "The line did not arrive in time."


def test_a_recovery_code_serves_one_act_and_the_app_s_code_several(desk: InProcess) -> None:
    customer = desk.operators[0]
    person = desk.run(desk.context.store.find(Tables.logins, customer.email))
    assert person is not None
    recovery = desk.run(recovery_hashes(desk.context, person.person, ["ABCDEFGH23"]))
    command = SetSecondFactor(
        email=person.email,
        person=person.person,
        totp_sealed=person.totp_sealed,
        totp_step=0,
        recovery=recovery,
        letters=(),
        instead_of=person.totp_sealed,
    )
    desk.run(desk.context.engine.submit(command))
    wish = OperatorRequest("operator list", {}, email=customer.email, password=PASSWORD, totp="ABCDE-FGH23")
    assert desk.run(perform(desk.context, wish)).done
    assert desk.run(perform(desk.context, wish)).code == "wrong_credentials"
    code = msgspec.structs.replace(wish, totp=desk.code_of(customer.email))
    assert [bool(desk.run(perform(desk.context, code)).done) for _ in range(2)] == [True, True]


def test_wrong_tries_are_counted_by_address_and_good_ones_are_not(desk: InProcess) -> None:
    now = 0
    counted = msgspec.structs.replace(desk.context, limits=RateLimits(workers=4, clock=lambda: now))
    email = desk.operators[0].email
    right = OperatorRequest("operator list", {}, email=email, password=PASSWORD, totp=desk.code_of(email))
    wrong = msgspec.structs.replace(right, password="wrong horse battery")
    for _ in range(2 * EMAIL_FAILURES_MAX):
        assert desk.run(perform(counted, right)).done
    codes = [desk.run(perform(counted, wrong)).code for _ in range(EMAIL_FAILURES_MAX)]
    assert codes == ["wrong_credentials"] * EMAIL_FAILURES_MAX
    refused = desk.run(perform(counted, right))
    assert (refused.code, refused.detail) == ("rate_limited", "Too many incorrect attempts: wait 60 seconds.")
    other = desk.operators[1].email
    code = desk.code_of(other)
    assert desk.run(perform(counted, msgspec.structs.replace(right, email=other, totp=code))).done
    now += 60_000_000_000
    right = msgspec.structs.replace(right, totp=desk.code_of(email))
    assert desk.run(perform(counted, right)).done
