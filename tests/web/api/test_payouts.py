"""The list of payouts: newest first, with the words of the pages, and nothing of another's."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.live import Call, InProcess, field_errors, in_process
from tests.postgres import PostgresServer
from tests.web.business.payouts import asked, ordered, paid_out, ready

PAYOUTS: Final = "/api/v1/payouts"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=2, people=1) as made:
        yield made


def listed(world: InProcess, query: str = "", key: str = "") -> dict[str, Any]:
    return world.data(Call("GET", f"{PAYOUTS}{query}", key or world.merchants[0].key))


def test_payouts_are_listed_with_what_became_of_them(world: InProcess) -> None:
    shop = world.merchants[0]
    world.paid(shop, world.customers[0], amount=900)
    bank = ready(world, shop)
    made = [paid_out(world, shop, bank, 100)]
    world.clock.advance(1)
    made += [asked(world, shop, bank, amount) for amount in (40, 30, 20)]
    ordered(world, made[1])
    world.act("payout refuse", id=made[2], reason="No such account")
    found = listed(world)
    assert (found["nextCursor"], found["hasMore"]) == (None, False)
    items = {one["id"]: one for one in found["items"]}
    assert [one["id"] for one in found["items"]] == sorted(made, reverse=True)
    assert {payout: one["status"] for payout, one in items.items()} == dict(
        zip(made, ("paid", "ordered", "refused", "requested"), strict=True)
    )
    first = items[made[0]]
    assert first == {
        "id": made[0],
        "amount": 100,
        "currency": "USD",
        "status": "paid",
        "bankAccount": "3000",
        "bankReference": f"FT {made[0]}",
        "reason": None,
        "createdAt": first["createdAt"],
        "paidAt": first["createdAt"],
        "livemode": True,
    }
    [moved] = [
        one
        for one in world.data(Call("GET", "/api/v1/transfers", shop.key))["items"]
        if one["reference"] == first["bankReference"]
    ]
    assert (moved["amount"], moved["createdAt"]) == (-100, first["paidAt"])
    assert items[made[2]]["reason"] == "No such account"
    assert items[made[3]]["paidAt"] is None


def test_pages_follow_each_other_also_where_several_were_made_at_once(world: InProcess) -> None:
    shop = world.merchants[0]
    world.paid(shop, world.customers[0], amount=900)
    bank = ready(world, shop)
    made = []
    for number in range(5):
        made.append(asked(world, shop, bank, 1))
        world.act("payout refuse", id=made[-1], reason="No")
        world.clock.advance(number % 2)
    found, query = [], "?limit=2"
    while query:
        page = listed(world, query)
        found.append([one["id"] for one in page["items"]])
        query = f"?limit=2&cursor={page['nextCursor']}" if page["hasMore"] else ""
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(one for page in found for one in page) == sorted(made)
    world.clock.advance(1)
    newer = asked(world, shop, bank, 1)
    assert listed(world, "?limit=1")["items"][0]["id"] == newer


def test_nothing_of_another_is_listed_and_no_other_cursor_is_taken(world: InProcess) -> None:
    shop, other = world.merchants[:2]
    world.paid(shop, world.customers[0], amount=900)
    payout = asked(world, shop, ready(world, shop), 1)
    for key in (other.key, shop.test_key):
        assert listed(world, key=key)["items"] == []
        for cursor in (payout, "po_none", "%00", "%D8%B4"):
            answer = world.send(Call("GET", f"{PAYOUTS}?cursor={cursor}", key))
            assert set(field_errors(answer)) == {"cursor"}
