"""Whether the service is ready is for everybody to know; why it is not, only for who is on the machine."""

import pytest

from tests.live import Call, in_process
from tests.postgres import PostgresServer

READY = Call("GET", "/readyz")


@pytest.mark.parametrize(
    ("peer", "call", "is_told"),
    [
        ("127.0.0.1", READY, True),
        ("::1", READY, True),
        ("192.0.2.1", READY, False),
        ("127.0.0.1", READY.with_header("x-forwarded-for", "127.0.0.1"), False),
        ("127.0.0.1", READY.with_header("forwarded", "for=127.0.0.1"), False),
    ],
    ids=["here", "here by IPv6", "elsewhere", "by a proxy", "by another proxy"],
)
def test_inner_causes_are_told_to_this_machine_alone(
    engine: PostgresServer | None, peer: str, call: Call, *, is_told: bool
) -> None:
    with in_process(engine, shops=1, people=0) as world:
        world.payment(world.merchants[0], expiresIn=300)
        world.come_from(peer)
        assert world.send(call).json() == {"status": "ready", "causes": []}
        world.clock.advance(320_000)  # Nobody lets it expire.
        answer = world.send(call)
        assert answer.status_code == 503
        causes = ["the expiry worker is more than 10 seconds behind"] if is_told else []
        assert answer.json() == {"status": "unavailable", "causes": causes}
