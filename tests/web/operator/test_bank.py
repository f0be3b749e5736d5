"""Statements of the bank at the desk: understood, imported, matched, undone and reconciled, on both engines."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from qirsh.cli.demo.bank_sample import SAMPLE_FORMAT, sample_file
from qirsh.domain.bank_file import FileLine
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import line_digest
from qirsh.domain.limits import BANK_LINES_AT_ONCE, BANK_LOADING_MS
from qirsh.store.reads.queues import waiting
from tests.domain.bank_cases import SLIP
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.web.operator.bank import FORMAT, begun, confirmed, deposit, sent, withdraw

DAY = "2027-01-15"
HOUR_MS = 3_600_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        held.act("bank format", **FORMAT)
        yield held
        assert held.violations() == []


def code(world: InProcess, act: str, operator: int = 0, **words: object) -> str:
    return world.run(world.tried(act, words, operator)).code


def items(world: InProcess, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.act("bank list", what=what)["items"]
    return found


def rows(world: InProcess, sql: str) -> list[tuple[Any, ...]]:
    with world.books() as books:
        return books.select(sql)


def test_a_look_at_a_file_keeps_nothing_and_tells_what_was_understood(world: InProcess) -> None:
    lines = (f"{DAY},5.00,USD,slip 1,cash", f"{DAY},-1.50,EUR,,fee", f"{DAY},0.00,USD,,nothing")
    before = world.counts()
    seen = world.act("bank import", **sent(*lines))
    assert world.counts() == before
    assert (seen["state"], seen["lines"], seen["new"], seen["known"], seen["zeros"]) == ("preview", 2, 2, 0, 1)
    assert seen["totals"] == [
        {"currency": "EUR", "in": "0.00", "out": "-1.50"},
        {"currency": "USD", "in": "5.00", "out": "0.00"},
    ]
    assert seen["first"][1] == {
        "number": 2,
        "day": DAY,
        "amount": "-1.50",
        "currency": "EUR",
        "reference": "",
        "text": "fee",
    }
    done = world.act("bank import", **sent(*lines, digest=seen["digest"]))
    assert (done["state"], done["new"]) == ("imported", 2)
    again = world.act("bank import", **sent(*lines, f"{DAY},7.00,USD,,more"))
    assert (again["new"], again["known"]) == (1, 2)


def test_another_file_than_the_one_that_was_shown_is_not_imported(world: InProcess) -> None:
    seen = world.act("bank import", **sent(f"{DAY},5.00,USD,slip 1,cash"))
    other = sent(f"{DAY},50.00,USD,slip 1,cash", digest=seen["digest"])
    assert code(world, "bank import", **other) == "changed_meanwhile"
    assert items(world, "statements") == []


def test_with_one_bad_line_nothing_is_imported_and_the_line_is_named(world: InProcess) -> None:
    lines = (f"{DAY},5.00,USD,slip 1,cash", f"{DAY},=1+1,USD,,x", f"{DAY},5.00,XAU,,x")
    seen = world.act("bank import", **sent(*lines))
    assert (seen["state"], [(fault["line"], fault["what"]) for fault in seen["faults"]]) == (
        "faulty",
        [(2, "amount"), (3, "currency")],
    )
    assert seen["faults"][0]["told"] == "is no amount: =1+1"
    reply = world.run(world.tried("bank import", confirmed(*lines)))
    assert (reply.code, reply.detail) == ("invalid", "file: line 2: is no amount: =1+1")
    assert rows(world, "SELECT * FROM bank_statement") == []


def test_a_day_far_from_the_service_s_clock_is_told_and_not_imported(world: InProcess) -> None:
    last, next_one = "2027-02-15", "2027-02-16"  # 31 days after the clock of this world, and one more.
    for day in (next_one, "9999-12-31", "1999-12-31", "0027-01-15"):
        reply = world.run(world.tried("bank import", confirmed(f"{DAY},5.00,USD,,x", f"{day},5.00,USD,,x")))
        told = f"file: line 2: is a day before 2000-01-01 or more than 31 days from now: {day}"
        assert (reply.code, reply.detail) == ("invalid", told)
    assert rows(world, "SELECT * FROM bank_statement") == []
    assert world.act("bank import", **confirmed(f"{last},5.00,USD,,x"))["new"] == 1


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_any_day_that_is_stored_can_be_reconciled(world: InProcess, day: str) -> None:
    begun(world, FileLine(1, day, 500, "USD", "slip", "x"))
    assert world.act("bank reconcile")["day"] == day
    assert [line["day"] for line in items(world, "lines")] == [day]


@pytest.mark.both_engines
def test_lines_and_orders_are_matched_by_reference_amount_currency_and_direction(world: InProcess) -> None:
    deposit(world, "in")
    withdraw(world, "out")
    deposit(world, "euros", currency="EUR")
    deposit(world, "twice")
    lines = (
        *(f"{DAY},5.00,USD,in,x", f"{DAY},-5.00,USD,out,x", f"{DAY},5.00,EUR,euros,x"),
        *(f"{DAY},5.00,USD,twice,x", f"{DAY},5.00,USD,twice,x"),
        *(f"{DAY},5.01,USD,in,other amount", f"{DAY},-5.00,USD,in,back", f"{DAY},5.00,EUR,in,other money"),
    )
    held = world.held(world.customers[0].account)
    assert world.act("bank import", **confirmed(*lines))["matched"] == 4
    assert {item["reference"] for item in items(world, "lines")} == {"in", "twice"}
    assert len(items(world, "lines")) == 4
    references = {item["reference"] for item in items(world, "orders")}
    assert references.isdisjoint({"in", "out", "euros", "twice"})
    assert world.held(world.customers[0].account) == held, "a match moves no money"
    assert world.act("bank match")["matched"] == 0


def test_a_reversal_is_an_order_of_its_own_the_other_way(world: InProcess) -> None:
    deposit(world, "wrong")
    world.agree("reverse ask", reverses="wrong", reference="back")
    lines = (f"{DAY},5.00,USD,wrong,x", f"{DAY},-5.00,USD,back,x", f"{DAY},5.00,USD,back,x")
    assert world.act("bank import", **confirmed(*lines))["matched"] == 2
    assert [item["amount"] for item in items(world, "lines")] == ["5.00"]


def test_what_is_booked_later_is_matched_later_and_the_rest_by_hand(world: InProcess) -> None:
    world.act("bank import", **confirmed(f"{DAY},5.00,USD,late,x", f"{DAY},6.00,USD,typo,x"))
    assert {queue.name: queue.count for queue in world.run(waiting(world.context.store))}["bank_lines"] == 2
    deposit(world, "late")
    deposit(world, "correct", amount="6.00")
    assert world.act("bank match")["matched"] == 1
    [line] = items(world, "lines")
    assert code(world, "bank match", line=line["line"], reference="late") == "already_matched"
    assert code(world, "bank match", line=line["line"], reference="404") == "not_found"
    assert code(world, "bank match", line="0" * 16, reference="correct") == "not_found"
    done = world.act("bank match", line=line["line"], reference="correct")
    assert world.act("bank match", line=line["line"], reference="correct") == done
    assert items(world, "lines") == []
    world.act("bank unmatch", line=line["line"])
    assert code(world, "bank unmatch", line=line["line"]) == "not_found"
    assert [item["line"] for item in items(world, "lines")] == [line["line"]]
    deposit(world, "other", amount="7.00")
    assert code(world, "bank match", line=line["line"], reference="other") == "line_differs"


def test_files_that_overlap_count_once_and_two_equal_lines_are_two(world: InProcess) -> None:
    same = f"{DAY},5.00,USD,,equal"
    first = world.act("bank import", **confirmed(f"{DAY},1.00,USD,,one", same))
    second = world.act("bank import", **confirmed(same, same, f"{DAY},2.00,USD,,two"))
    assert (first["new"], second["new"]) == (2, 2)
    assert sorted(item["amount"] for item in items(world, "lines")) == ["1.00", "2.00", "5.00", "5.00"]
    world.act("bank undo", id=second["id"])
    assert sorted(item["amount"] for item in items(world, "lines")) == ["1.00", "5.00"]


def test_the_same_file_is_not_imported_twice_unless_it_was_undone(world: InProcess) -> None:
    words = confirmed(f"{DAY},5.00,USD,,x")
    done = world.act("bank import", **words)
    reply = world.run(world.tried("bank import", words, 1))
    assert reply.code == "already_decided"
    assert done["id"] in reply.detail
    assert done["importedBy"] in reply.detail
    world.act("bank undo", id=done["id"])
    assert world.act("bank import", **words)["new"] == 1


def test_the_same_form_twice_is_one_import(world: InProcess) -> None:
    words = {**confirmed(f"{DAY},5.00,USD,,x"), "key": "a1" * 9}
    first, second = world.act("bank import", **words), world.act("bank import", **words)
    assert first["id"] == second["id"]
    assert rows(world, "SELECT count(*) FROM bank_statement") == [(1,)]


@pytest.mark.both_engines
def test_an_import_is_undone_with_its_matches_and_leaves_an_audit_entry(world: InProcess) -> None:
    for each in ("a", "b", "c"):
        deposit(world, each)
    lines = [f"{DAY},5.00,USD,{each},x" for each in "abc"]
    first = world.act("bank import", **confirmed(*lines))
    world.act("bank import", **confirmed(lines[2], f"{DAY},9.00,USD,,y"))
    undone = world.act("bank undo", id=first["id"])
    assert (undone["state"], undone["unmatched"]) == ("undone", 2)
    assert rows(world, "SELECT reference FROM bank_match") == [("c",)]
    assert {"a", "b"} <= {item["reference"] for item in items(world, "orders")}
    actions = {action for (action,) in rows(world, "SELECT action FROM audit WHERE action LIKE 'bank_%'")}
    assert {"bank_statement.imported", "bank_statement.undone", "bank_line.matched", "bank_line.unmatched"} <= actions
    assert code(world, "bank undo", id=first["id"]) == "already_decided"
    assert code(world, "bank undo", id="bs_404") == "not_found"


@pytest.mark.both_engines
def test_an_import_that_was_killed_in_the_middle_counts_for_nothing_and_is_undone(world: InProcess) -> None:
    begun(world, SLIP, missing=1)
    assert items(world, "lines") == []
    assert [item["state"] for item in items(world, "statements")] == ["loading"]
    assert code(world, "bank match", line=line_digest(SLIP).hex(), reference="x") == "not_found"
    assert code(world, "bank reconcile", id="bs_begun") == "move_not_allowed"
    queues = {queue.name: queue.count for queue in world.run(waiting(world.context.store))}
    assert queues["bank_lines"] == 0
    reply = world.run(world.tried("bank undo", {"id": "bs_begun"}))
    assert (reply.code, "This file is being imported since 2027-01-15T" in reply.detail) == ("move_not_allowed", True)
    world.clock.advance(BANK_LOADING_MS)
    world.act("bank undo", id="bs_begun")
    assert rows(world, "SELECT * FROM bank_line") == []
    assert rows(world, "SELECT state, stored FROM bank_statement") == [("undone", 0)]


@pytest.mark.both_engines
def test_two_imports_at_once_keep_each_line_once(world: InProcess) -> None:
    many = [f"{DAY},{number}.00,USD,slip {number},x" for number in range(1, BANK_LINES_AT_ONCE + 100)]

    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        return await asyncio.gather(
            world.done("bank import", 0, **confirmed(*many)),
            world.done("bank import", 1, **confirmed(*reversed(many))),
        )

    first, second = world.run(both())
    assert first["new"] + second["new"] == len(many)
    assert rows(world, "SELECT count(*), min(files), max(files) FROM bank_line") == [(len(many), 2, 2)]
    for done in (first, second):
        world.act("bank undo", id=done["id"])
    assert rows(world, "SELECT count(*) FROM bank_line") == [(0,)]


@pytest.mark.both_engines
def test_the_books_and_the_bank_agree_to_the_coin_or_it_is_told_by_how_much_not(world: InProcess) -> None:
    [before] = [item for item in closings(world) if item["currency"] == "USD"]
    deposit(world, "in", amount="100.00")
    withdraw(world, "out", amount="30.00")
    deposit(world, "unseen", amount="8.00")
    lines = (f"{DAY},100.00,USD,in,x", f"{DAY},-30.00,USD,out,x", f"{DAY},-0.50,USD,,fee")
    # What the books stand at without these, the bank held too before the first line.
    books = amount(before["books"])
    closing = books + 10000 - 3000 - 50
    done = world.act("bank import", **confirmed(*lines, closingUSD=told(closing)))
    [item] = reconciled(world, done["id"])
    assert item["difference"] == told(-50 - 800)
    assert (item["unmatchedLines"], item["unmatchedLinesCount"]) == ("-0.50", 1)
    # All that was deposited before the first file is not in it: that is what remains unexplained.
    assert amount(item["unexplained"]) == -850 + 50 + amount(item["unmatchedOrders"])
    assert (item["state"], amount(item["unmatchedOrders"])) == ("wrong", books + 800)


def test_with_all_lines_from_the_first_day_on_nothing_is_unexplained(world: InProcess) -> None:
    orders = [
        BankOrder(*row)
        for row in rows(world, f"SELECT {', '.join(BankOrder.__struct_fields__)} FROM bank_order")  # noqa: S608 - ours
    ]
    data = sample_file(orders, fee=1250, stranger=99_00)
    chosen: dict[str, Any] = {name: getattr(SAMPLE_FORMAT, name) for name in SAMPLE_FORMAT.__struct_fields__}
    world.act("bank format", **chosen)
    words: dict[str, Any] = {"name": "sample.csv", "file": urlsafe_b64encode(data).decode()}
    done = world.act("bank import", **words, digest=sha256(data).hexdigest())
    assert done["matched"] == len(orders)
    assert len(items(world, "lines")) == 2
    assert items(world, "orders") == []
    for item in reconciled(world, done["id"]):
        assert (item["state"], item["unexplained"]) == ("right", "0.00")
    assert items(world, "lines")[1]["text"] in {"Hesap işletim ücreti", "Gelen EFT: =İsimsiz gönderici"}


def test_a_pair_on_both_sides_of_the_day_is_no_pair_on_that_day(world: InProcess) -> None:
    world.clock.advance(20 * HOUR_MS)  # The next day, in the bank's zone.
    deposit(world, "late", amount="3.00")
    early = world.act("bank import", **confirmed(f"{DAY},3.00,USD,late,x", closingUSD="3.00"))
    assert early["matched"] == 1
    [item] = [item for item in reconciled(world, early["id"]) if item["currency"] == "USD"]
    assert (item["unmatchedLines"], item["unmatchedLinesCount"]) == ("3.00", 1)
    later = world.act("bank import", **confirmed("2027-01-16,-1.00,USD,,fee", closingUSD="2.00"))
    [item] = [item for item in reconciled(world, later["id"]) if item["currency"] == "USD"]
    assert (item["unmatchedLines"], item["unmatchedLinesCount"]) == ("-1.00", 1)


def test_an_order_that_the_bank_tells_of_on_the_next_day_is_unmatched_until_then(world: InProcess) -> None:
    deposit(world, "slow", amount="3.00")
    today = world.act("bank import", **confirmed(f"{DAY},-1.00,USD,,fee", closingUSD="1.00"))
    before = reconciled(world, today["id"])
    world.clock.advance(20 * HOUR_MS)
    next_day = world.act("bank import", **confirmed("2027-01-16,3.00,USD,slow,x", closingUSD="4.00"))
    assert next_day["matched"] == 1
    assert reconciled(world, today["id"]) == before
    [now], [then] = reconciled(world, next_day["id"]), before
    assert now["unmatchedOrdersCount"] == then["unmatchedOrdersCount"] - 1
    # Whichever of the two is looked at, the same is missing: what was there before the first line.
    assert now["unexplained"] == then["unexplained"]


def closings(world: InProcess) -> list[dict[str, Any]]:
    """What the books stand at, as a file that tells nothing new would show it."""
    done = world.act("bank import", **confirmed(f"{DAY},0.01,USD,,probe", closingUSD="0.01"))
    found = reconciled(world, done["id"])
    world.act("bank undo", id=done["id"])
    return found


def reconciled(world: InProcess, statement: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.act("bank reconcile", id=statement)["items"]
    return [item for item in found if item["bank"]]


def amount(text: str) -> int:
    return int(text.replace(".", ""))


def told(minor: int) -> str:
    return f"{'-' if minor < 0 else ''}{abs(minor) // 100}.{abs(minor) % 100:02}"


def test_formats_and_files_that_cannot_be_are_refused_beside_their_field(world: InProcess) -> None:
    for changes, field in (
        ({"encoding": "ebcdic"}, "encoding"),
        ({"day_column": ""}, "day_column"),
        ({"amount_column": ""}, "amount_column"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"skipped": "many"}, "skipped"),
        ({"skipped": "1000"}, "skipped"),
    ):
        reply = world.run(world.tried("bank format", {**FORMAT, **changes}))
        assert (reply.code, reply.detail.partition(":")[0]) == ("invalid", field)
    line = f"{DAY},5.00,USD,slip 1,cash"
    for words, field in (
        ({**sent(line), "file": ""}, "file"),
        ({**sent(line), "file": "é"}, "file"),
        ({**sent(line), "file": "abc"}, "file"),
        ({**sent(line), "name": ""}, "name"),
        ({**confirmed(line), "closingUSD": "1,5"}, "closingUSD"),
    ):
        reply = world.run(world.tried("bank import", words))
        assert (reply.code, reply.detail.partition(":")[0]) == ("invalid", field), words
    assert code(world, "bank import", **sent(line), house="corrections") == "not_found"
    assert code(world, "bank list", what="gold") == "invalid"


def test_what_the_bank_wrote_is_not_in_the_database_as_it_was_written(world: InProcess) -> None:
    world.act("bank import", **confirmed(f"{DAY},5.00,USD,,from Samira"))
    [(sealed,)] = rows(world, "SELECT text_sealed FROM bank_line")
    assert b"Samira" not in bytes(sealed)
    assert [item["text"] for item in items(world, "lines")] == ["from Samira"]


def test_a_file_of_a_house_without_a_format_is_not_understood(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=0, people=0) as world:
        reply = world.run(world.tried("bank import", {"file": "eA==", "name": "x.csv"}, 0))
    assert (reply.code, "`qirsh bank format` says it" in reply.detail) == ("not_found", True)
