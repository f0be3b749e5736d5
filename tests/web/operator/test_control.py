"""The control socket: whose path it is, and what a close waits for."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from qirsh.web.operator.control import Control, OperatorReply, OperatorRequest
from tests.live import PASSWORD, PIN, InProcess, in_process

ADD = OperatorRequest("person add", {"email": "a@home.example", "name": "A", "password": PASSWORD, "pin": PIN})


async def asked(path: Path, wish: OperatorRequest) -> OperatorReply:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(msgspec.json.encode(wish) + b"\n")
    reply = msgspec.json.decode(await reader.readline(), type=OperatorReply)
    writer.close()
    await writer.wait_closed()
    return reply


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


def test_a_client_that_says_nothing_does_not_hold_up_a_close_for_long(desk: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    control = Control(desk.context, path)

    async def scene() -> float:
        await control.open()
        _, writer = await asyncio.open_unix_connection(path)
        await begun(control)
        began = time.monotonic()
        await control.close()
        writer.close()
        return time.monotonic() - began

    assert desk.run(scene()) < 4
