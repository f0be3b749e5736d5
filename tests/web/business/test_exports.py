"""Exports of a business on its pages: the file says what the ledger says, to whom may have it, and each is noted."""

import csv
import io
import random
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx2
import pytest

from qirsh.domain.money import CURRENCIES
from qirsh.domain.staff import MEMBER_ROLES, ROLES, Right, may
from qirsh.language.local_time import midnight_ms
from qirsh.store.interface import StoreUnavailable
from qirsh.web.business import export_pages, export_tables
from qirsh.web.http.problems import Problem
from qirsh.web.http.streams import Chunks, Streams
from tests.guest import Guest
from tests.live import InProcess, Live, Merchant, refund, trial
from tests.web.business.staff import home, join, owner
from tests.web.test_export_reads import lived
from tests.web.workbook import read_workbook

KINDS: Final = ("payments", "refunds", "payouts", "transactions")
DAY_MS: Final = 24 * 3600 * 1000
DAYS: Final = {"from": "2026-01-01", "to": "2027-12-31"}


def export(guest: Guest, base: str, kind: str = "payments", **changes: str) -> httpx2.Response:
    guest.open(f"{base}/exports")
    fields = {"kind": kind, "currency": "", "format": "csv", **DAYS, **changes}
    return guest.post(f"{base}/exports", **fields)


def rows(answer: httpx2.Response) -> list[dict[str, Any]]:
    """Of either file, under the same names, and without the blanks between digits."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"].startswith("text/csv"):
        read = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline=""), strict=True)
        return [{name: _digits(value) for name, value in row.items() if value} for row in read]
    [sheet] = read_workbook(answer.content)
    return [{name.partition(" (")[0]: str(value) for name, value in row.items()} for row in sheet.values]


def _digits(value: str) -> str:
    return value.replace(" ", "") if re.fullmatch(r"[\d ]+", value) else value


def lines_and_totals(answer: httpx2.Response) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    read = rows(answer)
    first = next(iter(read[-1]))
    totals = {row.get("currency", ""): row for row in read if row[first] == "total"}
    return [row for row in read if row[first] != "total"], totals


def minor(amount: str) -> int:
    return int(Decimal(amount) * 100)


def today(world: InProcess) -> str:
    return f"{datetime.fromtimestamp(world.now_ms() // 1000, UTC):%Y-%m-%d}"


def noted(world: InProcess) -> list[tuple[str, str, str]]:
    with world.books() as books:
        return books.select("SELECT actor, subject, detail FROM audit WHERE action = 'export.made' ORDER BY id")


@pytest.mark.both_engines
@pytest.mark.parametrize("file", ["csv", "xlsx"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_file_says_what_the_ledger_says(still: InProcess, seed: int, file: str) -> None:
    boss, merchant = owner(still)
    lived(still, merchant, still.customer(), random.Random(seed), steps=40)
    boss = Guest(still).signed_in(merchant.email)
    base, account = home(merchant), int(merchant.account)
    with still.books() as books:
        for code in CURRENCIES:
            ledger = books.select(
                "SELECT kind, CASE WHEN credit = ? THEN amount ELSE -amount END FROM transfer"
                " WHERE (credit = ? OR debit = ?) AND currency = ? ORDER BY id",
                *[account] * 3,
                code,
            )
            if not ledger:
                continue
            moved, totals = lines_and_totals(export(boss, base, "transactions", currency=code, format=file))
            assert [(line["kind"], minor(line["amount"])) for line in moved] == ledger
            assert (
                minor(totals[code]["amount"])
                == sum(change for _, change in ledger)
                == books.held(merchant.account, code)
            )
            assert minor(totals[code]["balance"]) == books.held(merchant.account, code)
            assert int(totals[code]["created_at"]) == len(ledger)
            paid, totals = lines_and_totals(export(boss, base, "payments", currency=code, format=file))
            taken = sum(change for kind, change in ledger if kind == "pay")
            given = -sum(change for kind, change in ledger if kind == "refund")
            assert (
                minor(totals[code]["paid_amount"]) == taken == sum(minor(line.get("paid_amount", "0")) for line in paid)
            )
            assert minor(totals[code].get("refunded_amount", "0")) == given
            back, totals = lines_and_totals(export(boss, base, "refunds", currency=code, format=file))
            assert sum(minor(line["amount"]) for line in back) == given
            assert not back or minor(totals[code]["amount"]) == given


@pytest.mark.parametrize("file", ["csv", "xlsx"])
def test_a_payment_is_told_with_its_payer_and_its_metadata_in_columns(still: InProcess, file: str) -> None:
    boss, merchant = owner(still)
    customer = still.customer()
    payment = still.paid(
        merchant, customer, amount=10098, note="=Bread", reference="R-1", metadata={"order": "A-7", "weight": 1.5}
    )
    still.data(refund(merchant.key, payment, amount=98))
    answer = export(boss, home(merchant), format=file)
    line, total = rows(answer)
    with still.books() as books:
        [(name,)] = books.select("SELECT name FROM account WHERE number = ?", int(customer.account))
    wanted = {
        "payment_id": payment,
        "status": "paid",
        "amount": "100.98",
        "paid_amount": "100.98",
        "refunded_amount": "0.98",
        "currency": "USD",
        "payer_account": customer.account,
        "payer_name": name,
        "note": "'=Bread" if file == "csv" else "=Bread",
        "reference": "R-1",
        "metadata.order": "A-7",
        "metadata.weight": "1.5",
    }
    assert {name: line.get(name) for name in wanted} == wanted
    assert total == {
        "payment_id": "total",
        "created_at": "1",
        "amount": "100.98",
        "paid_amount": "100.98",
        "refunded_amount": "0.98",
        "currency": "USD",
    }
    name = f"payments-{merchant.account}-2026-01-01-{today(still)}.{file}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert noted(still)[-1] == (
        f"person {_person(still, merchant)}",
        f"account {merchant.account}",
        f"payments of all currencies, 2026-01-01 to {today(still)}, as {file}",
    )


def _person(world: InProcess, merchant: Merchant) -> int:
    with world.books() as books:
        [(person,)] = books.select("SELECT owner FROM account WHERE number = ?", int(merchant.account))
    return int(person)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", ["csv", "xlsx"])
def test_a_shop_without_anything_gets_a_file_that_says_so(still: InProcess, kind: str, file: str) -> None:
    boss, merchant = owner(still)
    [total] = rows(export(boss, home(merchant), kind, format=file))
    assert list(total.values()) == ["total", "0"]


def test_days_are_those_of_the_shop(still: InProcess) -> None:
    boss, merchant = owner(still)
    zone, day = still.context.time_zone, date.fromisoformat(today(still))
    assert zone.key == "UTC"
    begin = midnight_ms(day, ZoneInfo("Asia/Kathmandu"))  # A quarter past six in the evening, by UTC.
    for at in (begin - 1, begin, begin + DAY_MS - 1, begin + DAY_MS):
        payment = still.payment(merchant)
        still.database.meddle(
            "payment",
            f"UPDATE payment SET created_at = {at} WHERE number = {_number(still, payment)}",  # noqa: S608
        )
    still.clock.advance(2 * DAY_MS)
    still.change(time_zone=ZoneInfo("Asia/Kathmandu"))
    try:
        boss = Guest(still).signed_in(merchant.email)
        lines = rows(export(boss, home(merchant), **{"from": str(day), "to": str(day)}))
    finally:
        still.change(time_zone=zone)
    assert [line["created_at"] for line in lines] == [f"{day}T00:00:00+05:45", f"{day}T23:59:59+05:45", "2"]


def _number(world: InProcess, payment: str) -> int:
    with world.books() as books:
        return books.payment_number(payment)


def test_the_test_account_has_exports_of_its_own(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.payment(merchant)
    answer = export(boss, f"/business/{merchant.test_account}")
    assert [row["payment_id"] for row in rows(answer)] == ["total"]
    assert f"payments-{merchant.test_account}-" in answer.headers["content-disposition"]


def test_what_makes_no_sense_is_said_beside_its_field_and_nothing_is_made(
    still: InProcess, subtests: pytest.Subtests
) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str]] = [
        ({"from": "2026-02-30"}, "Enter a valid date."),
        ({"to": ""}, "Enter a valid date."),
        ({"from": "2026-02-02", "to": "2026-02-01"}, "The end date is before the start date."),
        ({"from": "2027-06-01"}, "This date is in the future."),
        ({"kind": "secrets"}, "Choose one of these."),
        ({"currency": "XXX"}, "Choose one of these."),
        ({"format": "exe"}, "Choose one of these."),
    ]
    for changes, says in cases:
        with subtests.test(changes=changes, says=says):
            before = noted(still)
            answer = export(boss, home(merchant), **changes)
            assert answer.status_code == 422
            assert says in boss.text
            for name, value in changes.items():
                assert name not in {"from", "to"} or f'value="{value}"' in boss.page or not value
            assert noted(still) == before


def test_exports_are_for_those_whose_role_has_the_right(still: InProcess) -> None:
    _, merchant = owner(still)
    for role in MEMBER_ROLES:
        guest = join(still, merchant, role)
        may_export = may(role, Right.EXPORT, "live")
        guest.open(home(merchant))
        assert (f'href="{home(merchant)}/exports"' in guest.page) == may_export
        assert guest.open(f"{home(merchant)}/exports").status_code == (200 if may_export else 403)


def test_whoever_may_export_may_know_who_paid() -> None:
    for role in ROLES:
        for mode in ("live", "test"):
            assert not may(role, Right.EXPORT, mode) or may(role, Right.SEE_PAYERS, mode)


def test_a_role_that_was_lost_since_the_form_is_refused_by_the_commit(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "accountant", boss)
    guest.open(f"{home(merchant)}/exports")
    before = noted(still)
    with still.books() as books:
        [(person,)] = books.select("SELECT person FROM member WHERE account = ?", int(merchant.account))
    boss.open(f"{home(merchant)}/staff/{person}/remove")
    boss.post(f"{home(merchant)}/staff/{person}/remove")
    answer = guest.post(f"{home(merchant)}/exports", kind="payments", currency="", format="csv", **DAYS)
    assert answer.status_code == 404
    assert noted(still) == before
    assert still.context.streams.under_way == 0


def test_an_export_under_way_ends_when_its_reader_loses_the_role_or_is_signed_out(
    still: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_pages, "_ASKED_AGAIN_S", 0)
    monkeypatch.setattr(export_tables, "_ROWS_AT_ONCE", 1)
    boss, merchant = owner(still)
    for _ in range(10):
        still.payment(merchant)
    guest = join(still, merchant, "accountant", boss)
    with still.books() as books:
        [(person,)] = books.select("SELECT person FROM member WHERE account = ?", int(merchant.account))

    def dismiss() -> None:
        boss.open(f"{home(merchant)}/staff/{person}/remove")
        assert boss.post(f"{home(merchant)}/staff/{person}/remove").status_code == 303

    def sign_out() -> None:
        boss.open("/wallet")
        assert boss.post("/sign-out").status_code == 303

    for reader, end, code in ((guest, dismiss, "not_found"), (boss, sign_out, "unauthorized")):
        reader.open(f"{home(merchant)}/exports")
        call = reader.posting(f"{home(merchant)}/exports", kind="payments", currency="", format="csv", **DAYS)
        chunks = still.run(still.begun(call)).chunks
        assert chunks is not None
        assert [still.run(anext(chunks)).count(b"\r\n") for _ in range(3)] == [1, 1, 1]
        end()
        with pytest.raises(Problem) as raised:
            still.run(_rest(chunks))
        assert raised.value.code == code
        still.run(chunks.aclose())
        assert still.context.streams.under_way == 0


async def _rest(chunks: Chunks) -> list[bytes]:
    return [chunk async for chunk in chunks]


def test_more_than_there_is_room_for_are_told_to_come_again_and_are_not_noted(still: InProcess) -> None:
    boss, merchant = owner(still)
    rooms, before = still.context.streams, noted(still)
    still.change(streams=Streams(in_all=0))
    try:
        answer = export(boss, home(merchant))
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "30"
    finally:
        still.change(streams=rooms)
    assert noted(still) == before


def test_an_export_that_cannot_be_noted_takes_no_room(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    boss, merchant = owner(still)
    boss.open(f"{home(merchant)}/exports")

    async def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(still.context.engine, "submit", away)
    answer = boss.post(f"{home(merchant)}/exports", kind="payments", currency="", format="csv", **DAYS)
    assert answer.status_code == 503
    assert still.context.streams.under_way == 0


@pytest.mark.parametrize("file", ["csv", "xlsx"])
def test_a_served_file_comes_in_chunks_and_the_connection_goes_on(world: Live, file: str) -> None:
    merchant, customer = world.merchant(), world.customer()
    paid = [world.paid(merchant, customer, metadata={"order": f"A-{n}"}) for n in range(30)]
    boss = Guest(world).signed_in(merchant.email)
    for _ in range(2):
        answer = export(boss, home(merchant), format=file)
        assert answer.headers["transfer-encoding"] == "chunked"
        *lines, total = rows(answer)
        assert [(line["payment_id"], line["metadata.order"]) for line in lines] == [
            (payment, f"A-{n}") for n, payment in enumerate(paid)
        ]
        assert (total["created_at"], total["paid_amount"]) == ("30", "30.00")


def test_payments_of_the_test_account_are_exported_as_those_of_the_live_one(still: InProcess) -> None:
    boss, merchant = owner(still)
    made = still.payment(merchant._replace(key=merchant.test_key))
    still.data(trial(merchant.test_key, "pay", made))
    line, total = rows(export(boss, f"/business/{merchant.test_account}"))
    assert (line["payment_id"], line["status"], total["paid_amount"]) == (made, "paid", "1.00")
