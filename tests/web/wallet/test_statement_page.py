"""Statements: they add up whatever happens meanwhile, cover whole days of UTC, and run nothing in a spreadsheet."""

import asyncio
import csv
import io
import itertools
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import httpx2
import pypdf
import pytest

from qirsh.domain.limits import DOCUMENTS_WAITING_MAX
from qirsh.store.reads.account_entries import Position, position_before
from qirsh.web.documents import render_pool
from qirsh.web.wallet import statement_page
from tests.altered import alter
from tests.guest import Guest
from tests.live import PIN, WALLET, Call, Customer, InProcess, Merchant, in_process, post, refund
from tests.postgres import PostgresServer

DAY_MS: Final = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def moving(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world whose clock goes on for days: whoever is in it signs in again."""
    with in_process(engine, shops=0, people=0) as world:
        yield world


def cells(answer: httpx2.Response) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))


def is_whole(lines: list[dict[str, str]]) -> bool:
    """Whether the opening balance and the amounts make each balance, and the closing one."""
    opening, *moves, closing = lines
    assert (opening["kind"], closing["kind"]) == ("opening", "closing")
    balance = Decimal(opening["balance"])
    for line in moves:
        balance += Decimal(line["amount"])
        if balance != Decimal(line["balance"]):
            return False
    return balance == Decimal(closing["balance"])


def iso(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds // 1000, UTC):%Y-%m-%d}"


def statement(guest: Guest, first: int, last: int, currency: str = "USD") -> list[dict[str, str]]:
    return cells(guest.ask("/wallet/statement.csv", currency=currency, from_=iso(first), to=iso(last)))


def test_a_statement_tells_every_movement_of_its_days(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    alter(still, merchant.account, name="Souq")
    payment = still.paid(merchant, customer, amount=10098, note="Bread\nand salt")
    still.data(refund(merchant.key, payment, amount=98, note="Too much"))
    still.withdraw(customer.account, 100)
    guest = Guest(still).entered(customer)
    lines = statement(guest, still.now_ms(), still.now_ms())
    assert is_whole(lines)
    assert [line["kind"] for line in lines] == ["opening", "deposit", "pay", "refund", "withdrawal", "closing"]
    paid = lines[2]
    assert paid["amount"] == "-100.98"
    assert paid["other_name"] == "Souq"
    assert paid["other_account"].replace(" ", "") == merchant.account
    assert paid["payment_id"].replace(" ", "") == payment
    assert paid["note"] == "Bread\nand salt"
    assert lines[3]["note"] == "Too much"
    assert Decimal(lines[-1]["balance"]) * 100 == still.held(customer.account)
    name = f"statement-{customer.account}-USD-{iso(still.now_ms())}-{iso(still.now_ms())}"
    answer = guest.ask("/wallet/statement.csv", currency="USD", from_=iso(still.now_ms()), to=iso(still.now_ms()))
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.csv"'


def test_the_pdf_says_the_same_in_the_readers_language(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer, amount=10098)
    for language, digits in (("en", "999,899.02"), ("tr", "999.899,02"), ("ar", "999,899.02")):
        answer = Guest(still, language).entered(customer).ask("/wallet/statement.pdf", currency="USD")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/pdf"
        text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(answer.content)).pages)
        assert digits in text, text


@pytest.mark.both_engines
def test_the_page_shows_the_same_balances_and_links_to_both_files(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer, amount=10098)
    guest = Guest(still).entered(customer)
    text = guest.read("/wallet/statement", currency="USD")
    assert "Opening balance 0.00 USD Closing balance 999,899.02 USD Transactions 2" in text
    today = iso(still.now_ms())
    for ending in ("pdf", "csv"):
        assert f'href="/wallet/statement.{ending}?currency=USD&amp;from=2027-01-01&amp;to={today}"' in guest.page
    assert "Transactions 0" in guest.read("/wallet/statement", currency="USD", month="2026-12")


@pytest.mark.both_engines
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_statements_of_adjacent_days_meet_and_miss_nothing(moving: InProcess, seed: int) -> None:
    chance = random.Random(seed)
    person = moving.person(verified=True)
    begin = moving.now_ms()
    for _ in range(40):
        amount = chance.randrange(1, 10**6)
        if chance.random() < 0.6 or moving.held(person.account) < amount:
            moving.deposit(person.account, amount)
        else:
            moving.withdraw(person.account, amount)
        # To the last millisecond of a day and the first of the next, often.
        to_midnight = DAY_MS - moving.now_ms() % DAY_MS
        moving.clock.advance(chance.choice((0, 1, to_midnight - 1, to_midnight, chance.randrange(2 * DAY_MS))))
    moving.clock.advance(2 * DAY_MS)
    guest = Guest(moving).entered(person)
    days = range(begin - DAY_MS, moving.now_ms() + 1, DAY_MS)
    whole = statement(guest, days[0], days[-1])
    assert is_whole(whole)
    assert len(whole) == 42
    opening, moves = "0.00", []
    cuts = sorted(chance.sample(range(len(days)), 6))
    for first, last in zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(days) - 1], strict=True):
        if first > last:
            continue
        part = statement(guest, days[first], days[last])
        assert is_whole(part)
        assert part[0]["balance"] == opening
        opening = part[-1]["balance"]
        moves += part[1:-1]
    assert moves == whole[1:-1]


@pytest.mark.both_engines
def test_a_statement_adds_up_while_payments_come_in(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    payments = [still.payment(merchant, amount=n + 1) for n in range(60)]
    guest = Guest(still).entered(customer)
    today = iso(still.now_ms())
    path = f"/wallet/statement.csv?currency=USD&from={today}&to={today}"

    async def at_once() -> list[httpx2.Response]:
        async def paid(payment: str) -> None:
            answer = await still.sent(post(f"{WALLET}/{payment}/pay", customer.token, {"pin": PIN}))
            assert answer.status_code == 200, answer.text

        async def taken() -> list[httpx2.Response]:
            # One after another, so that each begins among other payments; no more than can wait.
            return [await still.sent(guest.call("GET", path)) for _ in range(12)]

        found = asyncio.ensure_future(taken())
        await asyncio.gather(*map(paid, payments))
        return await found

    answers = still.run(at_once())
    found = [cells(answer) for answer in answers]
    assert all(map(is_whole, found))
    lengths = [len(lines) for lines in found]
    assert lengths == sorted(lengths)
    assert len(statement(guest, still.now_ms(), still.now_ms())) == 60 + 3


def test_a_clock_that_went_back_loses_no_movement(moving: InProcess) -> None:
    person = moving.person(verified=True)
    midnight = moving.now_ms() - moving.now_ms() % DAY_MS + DAY_MS
    for offset in (-5, 3, -2, 4, -1, 6):
        moving.clock.advance(midnight + offset - moving.now_ms())
        moving.deposit(person.account, 100)
    moving.clock.advance(10)
    guest = Guest(moving).entered(person)
    eve, day = statement(guest, midnight - 1, midnight - 1), statement(guest, midnight, midnight)
    assert is_whole(eve)
    assert is_whole(day)
    assert len(eve) + len(day) == 6 + 4
    assert eve[-1]["balance"] == day[0]["balance"]


def test_a_place_in_a_long_book_is_found_with_few_looks(moving: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    person = moving.person(verified=True)
    times = []
    for _ in range(40):
        times.append(moving.now_ms())
        moving.deposit(person.account, 1)
        moving.clock.advance(10)
    looks = 0
    store = moving.context.store
    select = store.select

    async def counted(query: Any, *arguments: object) -> list[tuple[Any, ...]]:  # noqa: ANN401 - as the store has it
        nonlocal looks
        looks += 1
        return await select(query, *arguments)

    monkeypatch.setattr(type(store), "select", staticmethod(counted), raising=False)
    account = int(person.account)
    for place, time in enumerate(times):
        assert moving.run(position_before(store, account, "USD", time)) == Position(place, place)
        assert moving.run(position_before(store, account, "USD", time + 1)) == Position(place + 1, place + 1)
    assert 80 < looks <= 80 * 7
    assert moving.run(position_before(store, account, "SYP", times[-1])) == Position(0, 0)


def test_cells_run_nothing_and_amounts_stay_numbers(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    alter(still, merchant.account, name="=cmd|' /C calc'!A0")
    notes = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'say "=1"', "a,b\n=2", "١٢", "; =1"]
    for note in notes:
        still.paid(merchant, customer, amount=5, note=note)
    lines = statement(Guest(still).entered(customer), still.now_ms(), still.now_ms())
    assert is_whole(lines)
    paid = [line for line in lines if line["kind"] == "pay"]
    assert len(paid) == len(notes)
    for line in paid:
        assert line["other_name"].startswith("'=")
        assert not line["note"].lstrip().startswith(("=", "+", "-", "@"))
        assert line["amount"] == "-0.05"


def test_days_that_are_none_are_explained(still: InProcess, subtests: pytest.Subtests) -> None:
    guest = Guest(still).entered(still.customers[0])
    cases: list[tuple[dict[str, str], str]] = [
        ({"from": "2027-02-30", "to": "2027-03-01"}, "Enter a valid date."),
        ({"from": "2027-02-01"}, "Enter a valid date."),
        ({"from": "2027-02-02", "to": "2027-02-01"}, "The end date is before the start date."),
        ({"currency": "usd"}, "could not be read"),
        ({"month": "2027-13"}, "could not be read"),
        ({"month": "20270101"}, "could not be read"),
        ({"from": "9999-12-31", "to": "9999-12-31"}, "Enter a valid date."),
    ]
    for query, says in cases:
        with subtests.test(query=query, says=says):
            before = still.counts()
            for path in ("/wallet/statement", "/wallet/statement.csv", "/wallet/statement.pdf"):
                assert guest.ask(path, **query).status_code == 422
                assert says in guest.text
            assert still.counts() == before


def test_too_many_lines_are_refused_before_they_are_read(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant, customer = still.merchant(), still.customer()
    for _ in range(3):
        still.paid(merchant, customer)
    guest = Guest(still).entered(customer)
    for ending, kind in (("pdf", statement_page._PDF), ("csv", statement_page._CSV)):  # noqa: SLF001 - their limits
        small = type(kind)(kind.ending, kind.head, 3, kind.made)
        monkeypatch.setattr(statement_page, f"_{ending.upper()}", small)
        before = still.counts()
        assert guest.ask(f"/wallet/statement.{ending}", currency="USD").status_code == 422
        assert "too many transactions" in guest.text
        assert still.counts() == before


def test_long_statements_are_read_in_pages(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant, customer = still.merchant(), still.customer()
    for _ in range(9):
        still.paid(merchant, customer)
    for lines in (1, 2, 5, 10, 11):
        monkeypatch.setattr("qirsh.store.reads.account_entries.STATEMENT_LINES_AT_ONCE", lines)
        found = statement(Guest(still).entered(customer), still.now_ms(), still.now_ms())
        assert len(found) == 12
        assert is_whole(found)


def test_more_documents_than_can_wait_are_refused_honestly(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = Guest(still).entered(still.customers[0])
    asked = guest.call("GET", "/wallet/statement.pdf?currency=USD")
    made, too_many = render_pool.made, 12

    async def scene() -> list[int]:
        others_are_told = asyncio.Event()

        async def made_at_last(make: Callable[[], bytes]) -> bytes:
            await others_are_told.wait()
            return await made(make)

        monkeypatch.setattr(render_pool, "made", made_at_last)
        answers = asyncio.as_completed([still.sent(asked) for _ in range(DOCUMENTS_WAITING_MAX + too_many)])
        async with asyncio.timeout(60):
            first = [(await answer).status_code for answer in itertools.islice(answers, too_many)]
        others_are_told.set()
        return first + [(await answer).status_code for answer in answers]

    assert still.run(scene()) == [503] * too_many + [200] * DOCUMENTS_WAITING_MAX
    assert guest.ask("/wallet/statement.pdf", currency="USD").status_code == 200


def test_every_month_has_all_its_days_and_none_that_is_still_to_come(moving: InProcess) -> None:
    person = moving.person(verified=True)
    today = iso(moving.now_ms())
    guest = Guest(moving).entered(person)
    assert guest.ask("/wallet/statement", month="2029-01").status_code == 422
    guest.read("/wallet/statement")
    assert f"&amp;to={today}" in guest.page
    ahead = guest.ask("/wallet/statement", currency="USD", **{"from": "2029-01-01", "to": "2029-01-02"})
    assert (ahead.status_code, "This date is in the future." in ahead.text) == (422, True)
    moving.clock.advance(600 * DAY_MS)
    guest = Guest(moving).entered(person)
    for month, last in (("2027-02", 28), ("2028-02", 29), ("2026-12", 31), ("2027-04", 30)):
        guest.read("/wallet/statement", month=month)
        assert f"from={month}-01&amp;to={month}-{last}" in guest.page


def test_a_statement_is_of_whoever_asks(still: InProcess) -> None:
    customer: Customer = still.customers[0]
    merchant: Merchant = still.merchants[0]
    guest = Guest(still).entered(customer)
    answer = guest.ask("/wallet/statement.csv", currency="USD", account=merchant.account)
    assert customer.account in answer.headers["content-disposition"]
    assert (
        still.send(Call("GET", "/wallet/statement.csv")).headers["location"]
        == "/sign-in?next=%2Fwallet%2Fstatement.csv"
    )
