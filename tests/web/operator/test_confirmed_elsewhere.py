"""A proposal that is confirmed at two services at once, which know nothing of each other: it is carried out once."""

from collections.abc import Iterator

import pytest

from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.console import console, operator_with


@pytest.fixture
def two(postgres: PostgresServer) -> Iterator[InProcess]:
    """Two services on one database, which take calls in turn."""
    with in_process(postgres, shops=0, people=1, services=2) as held:
        yield held
        assert held.violations() == []


def asked_for(world: InProcess, reference: str) -> str:
    words = {"account": world.customers[0].account, "currency": "USD", "amount": "5.00", "reason": "cash"}
    proposal: str = world.act("deposit ask", 0, **words, reference=reference)["id"]
    return f"/operator/proposals/{proposal}"


def booked(world: InProcess, reference: str) -> int:
    """How many transfers went under the bank's reference."""
    with world.books() as books:
        [(count,)] = books.select("SELECT count(*) FROM transfer WHERE bank_order = ?", reference)
    return int(count)


def test_a_proposal_that_two_operators_confirm_at_two_services_is_done_once(two: InProcess) -> None:
    names = ("Operator", "Third of them")
    third = operator_with(two, "treasury", names[1])
    guests, before = (console(two, 1), console(two, third)), two.held(two.customers[0].account)
    for round_ in range(4):
        path = asked_for(two, f"slip {round_}")
        for guest in guests:
            guest.open(path)
        answers = two.together([guest.posting(f"{path}/confirm", code=guest.code()) for guest in guests])
        assert sorted(answer.status_code for answer in answers) == [303, 409]
        late = [answer.status_code for answer in answers].index(409)
        guests[late].seen(answers[late])
        assert "This proposal has been decided." in guests[late].text
        assert f"Decided {names[1 - late]}" in guests[late].text
        assert booked(two, f"slip {round_}") == 1
    assert two.held(two.customers[0].account) == before + 4 * 500


def test_one_operator_who_confirms_in_two_tabs_confirms_once(two: InProcess) -> None:
    guest, before = console(two, 1), two.held(two.customers[0].account)
    path = asked_for(two, "slip")
    guest.open(path)
    call = guest.posting(f"{path}/confirm", code=guest.code())
    statuses = sorted(answer.status_code for answer in two.together([call, call]))
    assert statuses in ([303, 409], [303, 422])  # The code is used up by the first, or the proposal is.
    assert booked(two, "slip") == 1
    assert two.held(two.customers[0].account) == before + 500
