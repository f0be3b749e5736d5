"""The audit log in the console and at the command line: filters, pages, seals, and the file that is taken away."""

import asyncio
import csv
import io
import re
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.web.http.problems import Problem
from qirsh.web.operator import audit_actions
from qirsh.web.operator.action import CHUNKS, Actor
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.sealer import Sealer
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.console import ConsoleGuest, console, operator_with

AUDIT = "/operator/audit"
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


def note(world: InProcess, *details: str, actor: str = "somebody", subject: str = "nobody") -> None:
    """An entry for each, in this order."""
    note_all(world, *(RecordFailure(subject, actor, detail) for detail in details))


def note_all(world: InProcess, *entries: RecordFailure) -> None:
    async def noted() -> None:
        await asyncio.gather(*(world.context.engine.submit(entry) for entry in entries))

    world.run(noted())


def details(guest: ConsoleGuest) -> list[str]:
    return re.findall(r"<small><bdi class=\"wraps\">(.*?)</bdi></small>", guest.page)


def operator_number(world: InProcess, operator: int) -> int:
    with world.books() as books:
        [(person,)] = books.select("SELECT person FROM login WHERE email = ?", world.operators[operator].email)
    number: int = person
    return number


def test_entries_are_shown_newest_first_page_by_page(world: InProcess) -> None:
    guest = console(world)
    note(world, *(f"entry {number}" for number in range(45)))
    found: list[str] = []
    guest.open(f"{AUDIT}?act=session.refused")
    for _ in range(3):
        found += details(guest)
        older = re.search(r'href="([^"]+)" rel="next"', guest.page)
        if older is None:
            break
        guest.open(older.group(1).replace("&amp;", "&"))
    assert found[:45] == [f"entry {number}" for number in range(44, -1, -1)]


@pytest.mark.both_engines
def test_an_operator_is_found_by_number_by_name_and_wherever_they_acted(world: InProcess) -> None:
    guest, number = console(world), operator_number(world, 0)
    world.act("account suspend", account=world.customers[0].account, reason="by the socket")
    name = world.run(world.context.store.select("SELECT name FROM person WHERE id = $1", number))[0][0]  # type: ignore[arg-type]  # A query.
    for asked in (str(number), name.upper(), f"operator {number}"):
        text = guest.read(f"{AUDIT}?actor={asked.replace(' ', '+')}")
        assert "by the socket" in text, asked
        assert "operator.signed_in" in text, asked
    assert name in text
    assert "Nothing was found" in guest.read(f"{AUDIT}?actor=operator+{number}0")


def test_acts_are_found_whole_or_by_their_beginning_and_subjects_by_an_account_number(world: InProcess) -> None:
    guest, account = console(world), world.customers[0].account
    world.act("account suspend", account=account, reason="for a test")
    note(world, "another entry")
    for query in ("act=account.", "act=account.suspended", f"subject={account}", f"subject=account+{account}"):
        text = guest.read(f"{AUDIT}?{query}")
        assert "for a test" in text, query
        assert "another entry" not in text, query
    assert "for a test" in guest.read(f"{AUDIT}?act=account.suspended&subject={account}")
    assert "Nothing was found" in guest.read(f"{AUDIT}?act=account.closed&subject={account}")
    assert "Nothing was found" in guest.read(f"{AUDIT}?act=no.such.thing")


@pytest.mark.both_engines
def test_days_are_whole_and_a_wrong_one_is_told_beside_its_field(world: InProcess) -> None:
    note(world, "of the first day")
    first = datetime.fromtimestamp(world.now_ms() / 1000, UTC).date()
    world.clock.advance(DAY_MS)
    note(world, "of the next day")
    guest = console(world)
    text = guest.read(f"{AUDIT}?from={first}&to={first}")
    assert ("of the first day" in text, "of the next day" in text) == (True, False)
    assert "of the next day" in guest.read(f"{AUDIT}?from={first}")
    assert guest.open(f"{AUDIT}?from=yesterday").status_code == 422
    assert "from" in guest.wrong
    assert 'value="yesterday"' in guest.page
    assert guest.open(f"{AUDIT}?from={first}&to=2020-01-01").status_code == 422
    assert "to" in guest.wrong


def test_the_head_of_the_chain_is_shown_and_whether_it_holds(world: InProcess) -> None:
    guest = console(world)
    note(world, "to be sealed")
    world.run(Sealer(world.context.store, world.context.engine, world.context.clock).seal_all())
    assert "Not all of the chain was checked yet" in guest.read(AUDIT)
    with world.books() as books:
        [(number, made, entry)] = books.select(
            "SELECT number, hash, (SELECT max(id) FROM audit) FROM seal ORDER BY number DESC LIMIT 1"
        )
    assert f"{number}:{bytes(made).hex()}" in guest.page
    auditor = LedgerAuditor(world.context.store, world.context.engine)
    for _ in range(3):
        world.run(auditor.past())
    world.run(auditor.write_down())
    assert "The chain holds." in guest.read(AUDIT)
    world.database.meddle("audit", f"UPDATE audit SET actor = 'x' WHERE id = {entry - 1}")  # noqa: S608 - ours
    for _ in range(3):
        world.run(auditor.past())
    world.run(auditor.write_down())
    assert "The chain does not hold" in guest.read(AUDIT)
    assert f"audit entry {entry - 1} was changed" in guest.text


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_the_file_has_every_entry_that_was_asked_for_and_is_noted(world: InProcess) -> None:
    guest = console(world)
    note(world, '=HYPERLINK("https://evil.example")', actor="person 7")
    note(world, *(f"entry {number}" for number in range(1203)), actor="person 7")
    guest.open(f"{AUDIT}?actor=person+7")
    answer = guest.post(f"{AUDIT}/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert re.fullmatch(r'attachment; filename="audit-log-\d+\.csv"', answer.headers["content-disposition"])
    head, *rows = rows_of(answer.content)
    assert head == ["entry", "time", "actor", "action", "subject", "detail"]
    assert [row[5] for row in rows[:-1]] == [f"entry {number}" for number in range(1202, -1, -1)]
    assert rows[-1][5].startswith("'=HYPERLINK")
    with world.books() as books:
        [(actor, detail)] = books.select("SELECT actor, detail FROM audit WHERE action = 'audit.exported'")
    assert (actor, detail) == (f"operator {operator_number(world, 0)} (console)", "actor person 7")


@pytest.mark.both_engines
def test_a_file_of_what_takes_two_filters_has_all_of_it(world: InProcess) -> None:
    guest = console(world)
    subjects = ["person 8" if number % 400 == 0 else "nobody" for number in range(1300)]
    note_all(world, *(RecordFailure(subject, "person 7", f"entry {at}") for at, subject in enumerate(subjects)))
    guest.open(f"{AUDIT}?actor=person+7&act=session.&subject=person+8")
    _, *rows = rows_of(guest.post(f"{AUDIT}/export").content)
    assert [row[5] for row in rows] == ["entry 1200", "entry 800", "entry 400", "entry 0"]


def test_who_may_not_see_the_log_takes_nothing_away(world: InProcess) -> None:
    guest = console(world, operator_with(world, "treasury"))
    assert guest.open(AUDIT).status_code == 403
    guest.open("/operator")
    assert AUDIT not in guest.page
    with world.books() as books:
        assert books.select("SELECT count(*) FROM audit WHERE action = 'audit.exported'") == [(0,)]


def test_whoever_loses_the_right_meanwhile_gets_no_more(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_actions, "_ASKED_AGAIN_S", 0.0)
    note(world, *(f"entry {number}" for number in range(1100)), actor="person 7")
    auditor = operator_with(world, "auditor")
    email, actor = world.operators[auditor].email, Actor(operator_number(world, auditor))
    taken: list[bytes] = []

    async def end() -> None:
        asked = await world.done("operator end", email=email, reason="has left")
        await world.done("proposal confirm", 1, id=asked["id"], digest=asked["digest"])

    async def take() -> None:
        result = await audit_actions.export_entries(world.context, actor, {"actor": "person 7"})
        async with aclosing(result[CHUNKS]) as chunks:
            async for piece in chunks:
                taken.append(piece)
                if len(taken) == 2:
                    await end()

    with pytest.raises(Problem, match="missing_right"):
        world.run(take())
    found = b"".join(taken)
    assert (b"entry 1099" in found, b'"entry 0"' in found) == (True, False)


def test_the_act_of_the_command_line_has_the_same_entries_and_goes_on_where_it_ended(world: InProcess) -> None:
    note(world, *(f"entry {number}" for number in range(150)), actor="person 7")
    first = world.act("audit list", actor="person 7")
    assert [item["detail"] for item in first["items"]] == [f"entry {number}" for number in range(149, 49, -1)]
    rest = world.act("audit list", actor="person 7", after=first["after"])
    assert [item["detail"] for item in rest["items"]] == [f"entry {number}" for number in range(49, -1, -1)]
    assert rest["after"] == ""
    reply = world.run(world.tried("audit list", {"from": "nonsense"}))
    assert (reply.code, reply.detail) == ("invalid", "from: must be a day such as 2026-11-17")
    reply = world.run(world.tried("audit list", {"after": "nonsense"}))
    assert reply.code == "invalid"


def test_no_payment_writes_an_entry(world: InProcess) -> None:
    """Or the indexes of the log would be paid for by each of them."""
    with world.books() as books:
        [(before,)] = books.select("SELECT count(*) FROM audit")
    shop, customer = world.merchants[0], world.customers[0]
    world.paid(shop, customer)
    with world.books() as books:
        assert books.select("SELECT count(*) FROM audit") == [(before,)]
