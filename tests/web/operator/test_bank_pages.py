"""Statements of the bank by a browser: a file is looked at, imported, matched, compared with the books, and undone."""

import html
import re
from collections.abc import Iterator

import httpx2
import pytest

from qirsh.domain.api_key import OPERATOR_SESSION_KIND, make_token
from qirsh.domain.bank_file import FileLine
from qirsh.domain.limits import BANK_FILE_BYTES_MAX, BANK_LOADING_MS, REFERENCE_CHARACTERS_MAX
from qirsh.web.http.problems import Problem
from qirsh.web.routes import ROUTES
from qirsh.web.server.router import Router
from tests.guest import Guest
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.bank import FORMAT, begun, confirmed, deposit
from tests.web.operator.console import ConsoleGuest, console, operator_with

DAY = "2027-01-15"
NEXT_DAY = "2027-01-16"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held
        assert held.violations() == []


@pytest.fixture
def house(world: InProcess) -> str:
    with world.books() as books:
        [(number,)] = books.select(
            "SELECT number FROM account WHERE kind = 'house' AND mode = 'live' AND name = 'bank'"
        )
    return str(number)


def look(guest: ConsoleGuest, house: str, *lines: str) -> httpx2.Response:
    guest.open(f"/operator/bank/{house}/import")
    return guest.upload(f"/operator/bank/{house}/preview", {"file": "\n".join(lines).encode()})


@pytest.mark.both_engines
def test_the_whole_way_of_a_file(world: InProcess, house: str) -> None:
    guest, address = console(world), f"/operator/bank/{house}"
    assert "Choose once how the bank writes its files." in guest.read("/operator/bank")
    guest.open(f"{address}/format")
    guest.follow(guest.post(f"{address}/format", **FORMAT))
    assert "Files are read this way from now on." in guest.text
    deposit(world, "slip 1")
    deposit(world, "slip 2", amount="6.00")
    before = world.counts()
    answer = look(guest, house, f"{DAY},5.00,USD,slip 1,كاش", f"{DAY},6.00,USD,,=1+1", f"{DAY},7.00,USD,EFT 9,stranger")
    assert answer.status_code == 200, answer.text
    assert world.counts() == before
    for words in ("Nothing is stored yet", "كاش", "=1+1", "18.00"):
        assert words in guest.text
    answer = guest.post(f"{address}/import", closingUSD="18.00")
    guest.follow(answer)
    assert "Imported." in guest.text
    assert "slip 1" in guest.text

    # The queue leads to what is left, and a line to the orders that it may be.
    assert guest.open("/operator/bank_lines").headers["location"] == f"{address}/lines"
    guest.open(f"{address}/lines")
    lines = re.findall(rf'href="({address}/lines/[0-9a-f]{{16}})"', guest.page)
    assert len(lines) == 2
    guest.open(lines[0])
    if "=1+1" not in guest.text:
        lines.reverse()
        guest.open(lines[0])
    assert "It may be one of these orders" in guest.text
    guest.follow(guest.post(f"{lines[0]}/match"))
    assert "Matched. No money has moved." in guest.text
    guest.follow(guest.post(f"{lines[0]}/unmatch"))
    assert "The match was taken back." in guest.text
    guest.follow(guest.post(f"{lines[0]}/match", reference="slip 2"))

    # The other is money that nobody has booked: it is asked for from here.
    guest.open(lines[1])
    [link] = re.findall(r'href="(/operator/money/deposit[^"]+)"', guest.page)
    guest.open(html.unescape(link))
    assert [guest.value(name) for name in ("reference", "amount")] == ["EFT 9", "7.00"]
    chosen = {"reference": "EFT 9", "amount": "7.00", "currency": "USD", "house": "bank"}
    account = world.customers[0].account
    asked = guest.post("/operator/money/deposit", **chosen, account=account, reason="its line says so")
    proposal = guest.proposal(asked)
    console(world, 1).confirm(proposal)
    guest.open("/operator/bank")
    guest.follow(guest.post(f"{address}/match"))
    assert "Every line of the bank shows an order." in guest.text
    [statement] = set(re.findall(rf'href="({address}/statements/bs_[0-9a-f]+)"', guest.page))
    guest.open(statement)
    guest.follow(guest.post(f"{statement}/undo"))
    assert "The import was taken back, with its matches." in guest.text
    assert "Taken back" in guest.read(statement)


def test_lines_that_are_not_understood_are_told_and_the_import_is_not_offered(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    guest = console(world)
    look(guest, house, f"{DAY},5.00,USD,slip 1,cash", f"{DAY},<b>,USD,,x", "half")
    assert "Nothing can be imported until every line is understood." in guest.text
    assert "2 Not an amount. <b>" in guest.text
    assert "3 Has a different number of cells" in guest.text
    assert f'action="/operator/bank/{house}/import"' not in guest.page


def test_what_was_shown_is_what_is_imported(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    guest, address = console(world), f"/operator/bank/{house}"
    look(guest, house, f"{DAY},5.00,USD,slip 1,cash")
    form = guest.form(f"{address}/import")
    other = confirmed(f"{DAY},500.00,USD,slip 1,cash")
    answer = guest.post(f"{address}/import", {**form, "file": other["file"]})
    assert (answer.status_code, "another file than the one that was shown" in guest.text) == (409, True)
    # A closing balance that is none is told beside its field, and the file is still there.
    look(guest, house, f"{DAY},5.00,USD,slip 1,cash")
    answer = guest.post(f"{address}/import", closingUSD="a lot")
    assert (answer.status_code, guest.value("closingUSD")) == (422, "a lot")
    assert guest.wrong["closingUSD"] == "must be like 100.98"
    first = guest.post(f"{address}/import", closingUSD="5.00")
    assert first.status_code == 303
    # The same form once more is the same deed.
    look(guest, house, f"{DAY},6.00,USD,,more")
    form = guest.form(f"{address}/import")
    locations = {guest.post(f"{address}/import", form).headers["location"] for _ in range(2)}
    assert len(locations) == 1
    with world.books() as books:
        assert books.select("SELECT count(*) FROM bank_statement") == [(2,)]


def test_a_format_that_cannot_be_is_told_beside_its_field_with_what_was_typed(world: InProcess, house: str) -> None:
    guest, address = console(world), f"/operator/bank/{house}/format"
    guest.open(address)
    answer = guest.post(address, **{**FORMAT, "text_column": "200"})
    assert (answer.status_code, guest.value("text_column"), guest.value("reference_column")) == (422, "200", "4")
    assert guest.wrong["text_column"].startswith("must be a name, or a number from 1 to 100")
    with world.books() as books:
        assert books.select("SELECT * FROM bank_format") == []
    guest.post(address, **FORMAT)
    guest.open(address)
    assert guest.value("reference_column") == "4"


def test_a_file_is_needed_and_a_format_before_it(world: InProcess, house: str) -> None:
    guest, address = console(world), f"/operator/bank/{house}"
    assert "Choose once how the bank writes its files." in guest.read(f"{address}/import")
    world.act("bank format", **FORMAT)
    guest.open(f"{address}/import")
    assert "At most 6 MB and 50,000 lines." in guest.text
    look(guest, house, f"{DAY},0.00,USD,,x")
    assert "1 No line has an amount. Lines without an amount are left out." in guest.text
    answer = guest.upload(f"{address}/preview", {"file": b""})
    assert answer.status_code == 422
    assert "file" in guest.wrong


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_any_day_that_is_stored_can_be_looked_at(world: InProcess, house: str, day: str) -> None:
    begun(world, FileLine(1, day, 500, "USD", "slip", "x"))
    [line] = world.act("bank list", what="lines")["items"]
    guest, address = console(world), f"/operator/bank/{house}"
    for path in (
        *(f"/operator/bank?house={house}", f"{address}/lines", f"{address}/lines/{line['line']}"),
        f"{address}/statements/bs_begun",
    ):
        assert day[:4].lstrip("0") in guest.read(path), path


def test_an_import_that_runs_is_not_called_interrupted_and_cannot_be_taken_back(world: InProcess, house: str) -> None:
    begun(world, FileLine(1, DAY, 500, "USD", "slip", "x"), missing=1)
    guest, address = console(world), f"/operator/bank/{house}/statements/bs_begun"
    assert "Being imported" in guest.read("/operator/bank")
    guest.read(address)
    assert "This file is being imported since" in guest.text
    assert "interrupted" not in guest.text
    assert f'action="{address}/undo"' not in guest.page
    world.clock.advance(BANK_LOADING_MS)
    assert "Incomplete" in guest.read("/operator/bank")
    assert "This import was interrupted" in guest.read(address)
    guest.follow(guest.post(f"{address}/undo"))
    assert "The import was taken back" in guest.text


def test_a_reference_that_no_order_has_is_told_beside_its_field(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    world.act("bank import", **confirmed(f"{DAY},5.00,USD,,x"))
    [line] = world.act("bank list", what="lines")["items"]
    guest, path = console(world), f"/operator/bank/{house}/lines/{line['line']}"
    guest.open(path)
    for typed, told in (("", "Required."), ("slip 404", "no order of the house account bank has this reference")):
        assert guest.post(f"{path}/match", reference=typed).status_code == 422
        assert (guest.wrong["reference"], guest.value("reference")) == (told, typed)


def test_a_reference_is_as_long_in_every_form_as_the_rule_lets_it_be(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    world.act("bank import", **confirmed(f"{DAY},5.00,USD,,x"))
    [line] = world.act("bank list", what="lines")["items"]
    guest = console(world)
    for path in (
        *(f"/operator/money/{form}" for form in ("deposit", "withdraw", "reverse", "adjust")),
        f"/operator/bank/{house}/lines/{line['line']}",
    ):
        guest.read(path)
        fields = re.findall(r'<input[^>]*name="(?:reference|reverses)"[^>]*>', guest.page)
        assert fields, path
        assert all(f'maxlength="{REFERENCE_CHARACTERS_MAX}"' in field for field in fields), path


def test_an_auditor_sees_all_of_it_and_is_offered_nothing(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    world.act("bank import", **confirmed(f"{DAY},5.00,USD,,x", closingUSD="5.00"))
    [line] = world.act("bank list", what="lines")["items"]
    [statement] = world.act("bank list")["items"]
    number = operator_with(world, "auditor")
    guest, address = console(world, number), f"/operator/bank/{house}"
    for path in (
        *("/operator/bank", f"{address}/lines", f"{address}/orders"),
        *(f"{address}/lines/{line['line']}", f"{address}/statements/{statement['id']}"),
    ):
        guest.read(path)
        assert re.findall(r'<form[^>]*action="(/operator/bank[^"]*)"', guest.page) == [], path
        assert "/operator/money" not in guest.page
    assert guest.open(f"{address}/import").status_code == 403


def test_what_is_not_there_is_not_found(world: InProcess, house: str) -> None:
    guest, address = console(world), f"/operator/bank/{house}"
    for path in (
        *("/operator/bank?house=404", "/operator/bank/404/lines", "/operator/bank/404/orders"),
        *(f"{address}/lines/{'0' * 16}", f"{address}/lines/x", f"{address}/lines?after=x.y"),
        *(f"{address}/statements/bs_404", "/operator/bank/404/import", "/operator/bank/404/format"),
    ):
        assert guest.open(path).status_code == 404, path


def test_each_currency_is_compared_with_the_last_file_that_tells_of_it(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    deposit(world, "slip 1", currency="EUR")
    older = world.act("bank import", **confirmed(f"{DAY},5.00,EUR,slip 1,x", closingEUR="5.00"))
    first = world.act("bank import", **confirmed(f"{DAY},7.00,USD,,x", closingUSD="7.00"))
    newer = world.act("bank import", **confirmed(f"{NEXT_DAY},1.00,USD,,y", closingUSD="8.00"))
    guest = console(world)
    guest.read("/operator/bank")
    table = guest.page[guest.page.index("Bank and books") : guest.page.index("Lines without an order")]
    rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)]
    told = {row.split()[0]: row for row in rows[1:]}
    assert told["EUR"].startswith(f"EUR {DAY} 5.00 ")
    assert told["USD"].startswith(f"USD {NEXT_DAY} 8.00 ")
    assert " Agrees" in told["EUR"]
    found = re.findall(rf"/operator/bank/{house}/statements/(bs_[0-9a-f]+)", table)
    assert found[:1] + found[-1:] == [older["id"], newer["id"]]
    # What is taken back tells nothing.
    world.act("bank undo", id=newer["id"])
    guest.read("/operator/bank")
    table = guest.page[guest.page.index("Bank and books") : guest.page.index("Lines without an order")]
    found = re.findall(r"/statements/(bs_[0-9a-f]+)", table)
    assert found[:1] + found[-1:] == [older["id"], first["id"]]


def test_the_other_languages_of_a_preview_lead_to_the_form(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    guest, address = console(world), f"/operator/bank/{house}"
    look(guest, house, f"{DAY},5.00,USD,slip 1,cash")
    assert 'href="?lang=ar"' in guest.page
    answer = guest.open(f"{address}/preview?lang=ar")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{address}/import")
    guest.follow(answer)
    assert '<html lang="ar"' in guest.page


def test_lines_that_do_not_count_lead_nowhere(world: InProcess, house: str) -> None:
    begun(world, FileLine(1, DAY, 500, "USD", "slip", "x"), missing=1)
    guest, address = console(world), f"/operator/bank/{house}"
    assert "5.00 USD" in guest.read(f"{address}/statements/bs_begun")
    for path in re.findall(rf'href="({address}/lines/[^"]+)"', guest.page):
        assert guest.open(path).status_code == 200, path


def test_lists_go_on_where_they_ended(world: InProcess, house: str) -> None:
    world.act("bank format", **FORMAT)
    world.act("bank import", **confirmed(*(f"{DAY},{number}.00,USD,,x" for number in range(1, 121))))
    guest, address = console(world), f"/operator/bank/{house}"
    for start in (f"{address}/lines", f"{address}/statements/{world.act('bank list')['items'][0]['id']}"):
        seen: list[str] = []
        path = start
        while path:
            guest.read(path)
            seen += re.findall(rf'href="({address}/lines/[0-9a-f]{{16}})"', guest.page)
            more = re.search(r'rel="next" href="([^"]+)"', guest.page)
            path = more.group(1) if more else ""
        assert len(seen) == len(set(seen)) == 120


def test_a_large_file_takes_the_console_s_own_session(world: InProcess, house: str) -> None:
    """Before it has arrived: a stranger would take the room of others, and so would a wallet's session."""
    operator, customer = console(world), Guest(world).entered(world.customers[0])
    size, path = 1_000_000, f"/operator/bank/{house}/preview"

    async def begun(guest: Guest, address: str, size: int = size) -> list[str]:
        refused: list[str] = []
        uploads = Router(world.context, ROUTES).uploads
        cookies = "; ".join(f"{name}={value}" for name, value in guest.cookies.items())
        try:
            upload = uploads.begin(
                *(b"POST", address.encode(), {b"cookie": cookies.encode()}, size),
                until=0,
                refuse=lambda problem: refused.append(problem.code),
            )
        except Problem as problem:
            return [problem.code]
        assert upload.check is not None
        await upload.check
        return refused

    assert world.run(begun(operator, path)) == []
    assert world.run(begun(operator, f"/operator/bank/{house}/import", BANK_FILE_BYTES_MAX * 4 // 3)) == []
    assert world.run(begun(operator, path, BANK_FILE_BYTES_MAX * 2)) == ["body_too_large"]
    assert world.run(begun(operator, "/operator/operators")) == ["body_too_large"]
    assert world.run(begun(customer, path)) == ["body_too_large"]
    assert world.run(begun(operator, "/wallet/identity")) == ["body_too_large"]
    assert world.run(begun(customer, "/wallet/identity")) == []
    operator.open("/operator")
    operator.post("/operator/sign-out")
    operator.cookies |= {"qirsh-operator": make_token(OPERATOR_SESSION_KIND, bytes(32))}
    assert world.run(begun(operator, path)) == ["body_too_large"]
