"""What an open list says of payments that came since: how many, by its own filters, and without using the session."""

import html
import re

import pytest

from qirsh.domain.limits import NEWER_SHOWN_MAX
from tests.guest import Guest
from tests.live import InProcess, Merchant, create, pay
from tests.web.business.staff import home, owner


def asked_there(guest: Guest) -> str:
    """Where the script of the page asks."""
    [address] = re.findall(r'data-newer="([^"]+)"', guest.page)
    return html.unescape(address)


def told(guest: Guest, address: str) -> str:
    """What the script puts into the link."""
    answer = guest.world.send(guest.call("GET", address))
    assert answer.status_code == 200, answer.text
    assert "<" not in answer.text
    return answer.text.strip()


def make(still: InProcess, merchant: Merchant, **fields: object) -> str:
    still.clock.advance(5)
    return still.payment(merchant, **fields)


@pytest.mark.both_engines
def test_a_list_says_how_many_came_since_it_was_made(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = f"{home(merchant)}/payments"
    boss.read(base)
    empty = asked_there(boss)
    assert told(boss, empty) == ""
    make(still, merchant)
    assert told(boss, empty) == "1 new payment"
    boss.read(base)
    later = asked_there(boss)
    assert f'<a class="button" href="{base}" hidden></a>' in boss.page
    assert told(boss, later) == ""
    for _ in range(3):
        make(still, merchant)
    assert told(boss, later) == "3 new payments"
    assert told(boss, empty) == "4 new payments"
    boss.read(home(merchant))  # The overview, too.
    assert told(boss, asked_there(boss)) == ""
    make(still, merchant)
    assert told(boss, asked_there(boss)) == "1 new payment"


def test_numbers_have_the_forms_of_the_language(still: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, str]] = [
        (1, "دفعة جديدة واحدة"),
        (2, "دفعتان جديدتان"),
        (3, "3 دفعات جديدة"),
        (11, "11 دفعة جديدة"),
    ]
    for count, says in cases:
        with subtests.test(count=count, says=says):
            _, merchant = owner(still)
            guest = Guest(still, "ar").signed_in(merchant.email)
            guest.read(f"{home(merchant)}/payments")
            for _ in range(count):
                make(still, merchant)
            assert told(guest, asked_there(guest)) == says


def test_only_what_the_list_asks_for_counts(still: InProcess) -> None:
    boss, merchant = owner(still)
    base, customer = f"{home(merchant)}/payments", still.customer()
    make(still, merchant, reference="old")
    lists = {}
    for query in ({"status": "paid"}, {"currency": "EUR"}, {"status": "pending", "currency": "USD"}, {"q": "12.34"}):
        boss.read(base, **query)
        lists[str(query)] = asked_there(boss)
    make(still, merchant, currency="EUR")
    make(still, merchant)
    still.data(pay(customer, make(still, merchant)))
    numbers = [told(boss, address).partition(" ")[0] for address in lists.values()]
    assert numbers == ["1", "1", "1", ""]
    # Lists in another order, of one payment, and those further back tell nothing.
    for query in ({"by": "paid"}, {"q": f"{customer.account}"}, {"from_": "2026-02-30"}):
        boss.ask(base, **query)
        assert "data-newer" not in boss.page, query
        assert boss.ask(f"{base}/newer", **query).status_code == 422


def test_more_than_are_shown_are_told_as_more(still: InProcess) -> None:
    boss, merchant = owner(still)
    boss.read(f"{home(merchant)}/payments")
    address = asked_there(boss)
    still.clock.advance(5)
    for count, says in ((NEWER_SHOWN_MAX, "99 new payments"), (1, "\u206699+\u2069 new payments")):
        assert {answer.status_code for answer in still.together([create(merchant.key)] * count)} == {201}
        assert told(boss, address) == says
    boss.read(f"{home(merchant)}/payments")
    [older] = re.findall(r'href="([^"]+)" rel="next"', boss.page)
    boss.open(html.unescape(older))
    assert "data-newer" not in boss.page


def test_an_open_page_does_not_keep_the_session_in_use(still: InProcess) -> None:
    boss, merchant = owner(still)
    boss.read(f"{home(merchant)}/payments")
    address = asked_there(boss)
    still.clock.advance(120_000)
    assert "set-cookie" not in still.send(boss.call("GET", address)).headers
    assert "set-cookie" in still.send(boss.call("GET", f"{home(merchant)}/payments")).headers


def test_a_place_that_no_list_gave_is_refused(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[str] = ["x", "bi54", "Yy4xLjI"]
    for after in cases:
        with subtests.test(after=after):
            assert boss.ask(f"{home(merchant)}/payments/newer", after=after).status_code == 422
