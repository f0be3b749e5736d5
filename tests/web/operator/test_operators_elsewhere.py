"""Operators who are made at two services at once, which know nothing of each other."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.command import Command
from qirsh.domain.commands.operator import AcceptAppointment, EndOperator
from qirsh.domain.commands.proposal import AskProposal
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.proposal import shown_digest
from qirsh.domain.refusal import Refused
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.appointments import SECOND, appoint, ask, link, proposal_of


@pytest.fixture
def two(postgres: PostgresServer) -> Iterator[InProcess]:
    """Two services that know nothing of each other, on one database."""
    with in_process(postgres, shops=0, people=0, services=2) as held:
        held.change(has_mail=True)
        yield held
        assert held.violations() == []


def at_once(world: InProcess, *commands: Command[Any]) -> list[Any]:
    """Each at another service."""

    async def gathered() -> list[Any]:
        services = itertools.cycle(world.services)
        return list(await asyncio.gather(*(next(services).engine.submit(command) for command in commands)))

    return world.run(gathered())


def test_of_two_links_that_one_alone_mailed_one_is_good_wherever_they_are_opened(two: InProcess) -> None:
    two.agree("operator end", 1, by=0, email=SECOND)
    for round_ in range(4):
        emails = [f"{name}{round_}@bank.example" for name in ("a", "b")]
        for email in emails:
            ask(two, email=email)
        tokens = [link(two, email).removeprefix("/operator/appointments/") for email in emails]
        outcomes = at_once(
            two,
            *(
                AcceptAppointment(email, proposal_of(two, email), token_hash(token.encode()), "en", "-", b"seed", 0)
                for email, token in zip(emails, tokens, strict=True)
            ),
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Person", "Refused"]
        # Back to one, so that the next round begins like the first.
        begun = next(outcome for outcome in outcomes if not isinstance(outcome, Refused))
        two.clock.advance(OPERATOR_NEW_MS)
        wanted = EndOperator(begun.id)
        [end] = at_once(two, AskProposal(f"pr_end{round_}", wanted, "back to one", begun.id, "test"))
        assert end.state == "open"
        two.act("proposal confirm", 0, id=end.id, digest=shown_digest(end).hex()[:16])


def test_one_link_opened_at_two_services_makes_one_operator(two: InProcess) -> None:
    for round_ in range(4):
        email = f"new{round_}@bank.example"
        appoint(two, email)
        hashed = token_hash(link(two, email).removeprefix("/operator/appointments/").encode())
        proposal = proposal_of(two, email)
        outcomes = at_once(two, *[AcceptAppointment(email, proposal, hashed, "en", "-", b"seed", 0)] * 4)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Person", *["Refused"] * 3]
