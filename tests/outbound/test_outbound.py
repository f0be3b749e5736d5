"""The room's parts together: a target is checked before it is one, and what posts is made once and closed."""

import pytest

from qirsh.outbound.guard import Guard
from qirsh.outbound.outbound import Outbound
from tests.outbound.receiver import BODY, HEADERS, LOOPBACK, LOOPS, OK, receiving, run, saying, target_of


@pytest.mark.parametrize("loop", LOOPS)
def test_a_url_is_a_target_only_if_all_its_addresses_may_be_dialled(loop: str) -> None:
    names = {"shop.example": ["93.184.216.34"], "inner.example": ["93.184.216.34", "10.0.0.1"]}

    async def story() -> None:
        outbound = Outbound(Guard(resolve=lambda name: names.get(name, [])))
        target = await outbound.checked_target("https://shop.example")
        assert target is not None
        assert target.url == "https://shop.example/"
        for url in ("https://inner.example/", "https://unknown.example/", "http://shop.example/", "https://127.0.0.1/"):
            assert await outbound.checked_target(url) is None, url

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_connections_are_shared_and_end_with_it(loop: str) -> None:
    async def story() -> None:
        outbound = Outbound(Guard(networks=LOOPBACK))
        outbound.close()  # Nothing was posted yet.
        async with receiving(saying(OK)) as receiver:
            target = target_of(f"http://127.0.0.1:{receiver.port}/")
            for _ in range(2):
                said = await (await outbound.poster()).post(target, HEADERS, BODY)
                assert (said.status, said.excerpt) == (200, "ok")
            assert receiver.visits == 1
            outbound.close()
            said = await (await outbound.poster()).post(target, HEADERS, BODY)
            assert said.reason == "no_connection"

    run(loop, story())
