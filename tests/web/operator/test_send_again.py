"""Forms of the console while the database is away: what was typed waits on the page, and is done once."""

from collections.abc import Callable, Iterator
from typing import Final

import httpx2
import msgspec
import pytest

from qirsh.engine import batcher
from tests.database import database_at
from tests.line_to_database import LineBeside
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.web.operator.console import ConsoleGuest, console

DEPOSIT: Final = "/operator/money/deposit"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=0, people=1) as held:
        yield held
        assert held.violations() == []


@pytest.fixture
def distant(postgres: PostgresServer) -> Iterator[tuple[InProcess, LineBeside]]:
    """A service whose line to its database can be cut."""
    with (
        in_process(postgres, shops=0, people=1) as near,
        LineBeside(str(near.settings.database)) as line,
        InProcess(msgspec.structs.replace(near.settings, database=type(near.settings.database)(line.address))) as far,
    ):
        far.operators, far.customers = near.operators, near.customers
        far.database = database_at(near.settings.database)  # Whoever looks at the books has a line of their own.
        yield far, line
        assert near.violations() == []


def slip(world: InProcess) -> dict[str, str]:
    account = world.customers[0].account
    words = {"account": account, "currency": "USD", "amount": "5.00", "reference": "FT <1>", "house": "bank"}
    return {**words, "reason": 'cash, "receipt 7"'}


def proposals(world: InProcess) -> list[str]:
    with world.books() as books:
        return [reason for (reason,) in books.select("SELECT reason FROM proposal WHERE state = 'open'")]


def assert_kept(guest: ConsoleGuest, path: str, typed: dict[str, str]) -> None:
    """The page has nothing but the form, with all that was typed."""
    kept = guest.form(path)
    assert {name: kept[name] for name in typed} == typed
    assert "code" not in kept


def test_a_form_that_could_not_be_taken_is_kept_and_done_once(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = console(world)
    guest.open(DEPOSIT)
    monkeypatch.setattr(batcher, "QUEUE_COMMANDS_MAX", 0)
    for _ in range(2):  # The page that waits may have to wait again.
        answer = guest.post(DEPOSIT, **slip(world))
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "Nothing was done" in guest.text
        assert_kept(guest, DEPOSIT, slip(world))
    assert proposals(world) == []
    monkeypatch.undo()
    again = guest.posting(DEPOSIT)
    addresses = {answer.headers["location"] for answer in (world.send(again), world.send(again))}
    assert len(addresses) == 1
    assert proposals(world) == [slip(world)["reason"]]


def at_last(send: Callable[[], httpx2.Response]) -> httpx2.Response:
    """As somebody who sends it again until the database has been found."""
    answers: list[httpx2.Response] = []

    def is_taken() -> bool:
        answers.append(send())
        return answers[-1].status_code != 503

    wait_until(is_taken)
    return answers[-1]


def test_while_the_database_is_away_a_form_waits_on_its_page(distant: tuple[InProcess, LineBeside]) -> None:
    world, line = distant
    asked = world.act("deposit ask", 0, **slip(world))
    guest, path = console(world, 1), f"/operator/proposals/{asked['id']}"
    before = world.held(world.customers[0].account)
    guest.open(path)
    line.goes_down()
    assert guest.post(f"{path}/confirm", code=guest.code()).status_code == 503
    assert "Nothing was done" in guest.text
    assert_kept(guest, f"{path}/confirm", {"digest": asked["digest"]})
    line.comes_back()
    # A code is typed anew.
    assert at_last(lambda: guest.post(f"{path}/confirm", code=guest.code())).status_code == 303
    assert world.held(world.customers[0].account) == before + 500


def test_a_form_of_which_nobody_knows_whether_it_was_done_is_done_once(distant: tuple[InProcess, LineBeside]) -> None:
    world, line = distant
    guest = console(world)
    guest.open(DEPOSIT)
    line.breaks_at_commit("after", stays_down=True)
    assert guest.post(DEPOSIT, **slip(world)).status_code == 503
    assert "It may have been done or not" in guest.text
    assert_kept(guest, DEPOSIT, slip(world))
    assert proposals(world) == [slip(world)["reason"]]
    line.comes_back()
    assert guest.proposal(at_last(lambda: guest.post(DEPOSIT)))
    assert proposals(world) == [slip(world)["reason"]]
