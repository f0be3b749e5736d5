"""Proposals that nobody has decided on for a week end by themselves, and never a moment earlier."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.proposal import PROPOSAL_MS
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.workers import proposal_lapser
from qirsh.workers.proposal_lapser import ProposalLapser
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.tenant import login_of


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2) as held:
        yield held
        assert held.violations() == []


def lapsed(world: InProcess) -> int:
    """How many a look has ended."""
    context = world.context
    return world.run(ProposalLapser(context.store, context.engine, context.clock).lapse_due())


def ask(world: InProcess, reference: str) -> str:
    words: dict[str, Any] = {
        "account": world.customers[0].account,
        "currency": "USD",
        "amount": "5.00",
        "reference": reference,
    }
    proposal: str = world.act("deposit ask", **words, reason="cash")["id"]
    return proposal


def state(world: InProcess, proposal: str) -> str:
    told: str = world.act("proposal show", id=proposal)["state"]
    return told


def test_they_end_after_seven_days_and_are_told_in_the_audit_log(world: InProcess) -> None:
    old, decided = ask(world, "old"), ask(world, "decided")
    world.act("deposit confirm", 1, reference="decided")
    world.clock.advance(1)
    new = ask(world, "new")
    held = world.held(world.customers[0].account)
    world.clock.advance(PROPOSAL_MS - 2)
    assert lapsed(world) == 0
    world.clock.advance(1)
    assert lapsed(world) == 1
    assert lapsed(world) == 0
    assert [state(world, each) for each in (old, decided, new)] == ["lapsed", "done", "open"]
    assert world.held(world.customers[0].account) == held
    with world.books() as books:
        noted = books.select("SELECT actor, subject, detail FROM audit WHERE action = 'proposal.lapsed'")
    [(actor, subject, detail)] = noted
    assert (actor, subject) == ("the service", f"account {world.customers[0].account}")
    assert detail.startswith(f"{old}, asked by operator ")
    world.clock.advance(1)
    assert lapsed(world) == 1


def test_one_that_cannot_be_read_keeps_no_other_from_its_end(
    world: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    broken, whole = ask(world, "broken"), ask(world, "whole")
    with world.books() as books:
        [(command,)] = books.select("SELECT command FROM proposal WHERE id = ?", broken)
    change = "UPDATE proposal SET command = '{}' WHERE id = '{}'"
    world.database.meddle("proposal", change.format("no command", broken))
    world.clock.advance(PROPOSAL_MS)
    assert lapsed(world) == 1
    assert state(world, whole) == "lapsed"
    assert f"proposal {broken} cannot be read" in caplog.text
    world.database.meddle("proposal", change.format(command, broken))
    assert lapsed(world) == 1


def test_a_payout_that_nobody_confirmed_can_be_ordered_again(world: InProcess) -> None:
    customer = world.customers[1]
    person = login_of(world, customer.email).person
    macs = world.context.keyring.pin_macs(person, customer.pin)
    request = RequestPayout("po_1", int(customer.account), person, "USD", 700, b"sealed", macs)
    granted(world.run(world.context.engine.submit(request)))
    world.act("payout order", id="po_1", reference="ft 1")

    def payout() -> tuple[str, str | None]:
        found = world.run(world.context.store.find(Tables.payouts, "po_1"))
        assert found is not None
        return found.state, found.reference

    assert payout() == ("ordered", "ft 1")
    world.clock.advance(PROPOSAL_MS)
    assert payout() == ("ordered", "ft 1")
    assert lapsed(world) == 1
    assert payout() == ("asked", None)
    world.act("payout order", id="po_1", reference="ft 2")
    world.act("withdraw confirm", 1, reference="ft 2")
    assert payout() == ("paid", "ft 2")


def test_more_than_fit_into_a_look_end_one_look_after_the_other(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposal_lapser, "PROPOSALS_LAPSED_AT_ONCE", 3)
    for number in range(7):
        ask(world, f"slip {number}")
    world.clock.advance(PROPOSAL_MS)
    assert [lapsed(world) for _ in range(4)] == [3, 3, 1, 0]
    assert world.act("proposal list")["items"] == []


@pytest.mark.both_engines
def test_two_that_look_at_once_end_each_of_them_once(world: InProcess) -> None:
    for number in range(3):
        ask(world, f"slip {number}")
    world.clock.advance(PROPOSAL_MS)
    context = world.context
    lapsers = [ProposalLapser(context.store, context.engine, context.clock) for _ in range(2)]

    async def both() -> int:
        return sum(await asyncio.gather(*(lapser.lapse_due() for lapser in lapsers)))

    assert world.run(both()) == 3
    with world.books() as books:
        assert books.select("SELECT count(*) FROM audit WHERE action = 'proposal.lapsed'") == [(3,)]
