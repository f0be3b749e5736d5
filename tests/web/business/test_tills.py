"""Tills on the pages of a business: opened once, listed, printed, closed; and the payments that were made there."""

import io
import re
from typing import Final

import pytest
from pypdf import PdfReader

from qirsh.domain.limits import TILLS_OPEN_MAX
from qirsh.workers.payment_indexer import PaymentIndexer
from tests.guest import Guest
from tests.live import InProcess, Merchant, create
from tests.web.business.staff import home, join, owner
from tests.web.tills import fixed_till, new_till

EMPTY: Final = {"name": "Table 4", "currency": "USD", "amount": "", "minimum": "", "maximum": "", "note": ""}


def opened(guest: Guest, merchant: Merchant, **changes: str) -> str:
    """The id of a new one."""
    path = f"{home(merchant)}/tills"
    guest.open(path)
    answer = guest.post(path, **EMPTY | {"maximum": "50"} | changes)
    assert answer.status_code == 303, guest.text
    return answer.headers["location"].rpartition("/")[2]


def test_a_till_is_opened_and_its_page_has_code_link_and_posters(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert "No tills yet" in boss.read(f"{home(merchant)}/tills")
    till = opened(boss, merchant, minimum="1", note="Tea")
    read = boss.read(f"{home(merchant)}/tills/{till}")
    for words in ("The till is open", "Table 4", "1.00 to 50.00 USD", "Tea", f"/till/{till}"):
        assert words in read
    assert "<svg" in boss.page
    assert f'href="{home(merchant)}/payments?q=till%3A{till}"' in boss.page
    assert "Table 4" in boss.read(f"{home(merchant)}/tills")
    log = boss.read(f"{home(merchant)}/activity", act="till")
    assert "Opened a till" in log
    assert till in log


def test_a_till_takes_one_amount_or_what_lies_between_two(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], tuple[int | None, ...]]] = [
        ({"amount": "2.50"}, (250, None, None)),
        ({"maximum": "50"}, (None, 1, 5000)),
        ({"minimum": "50", "maximum": "50"}, (None, 5000, 5000)),
    ]
    for typed, sums in cases:
        with subtests.test(typed=typed, sums=sums):
            till = opened(boss, merchant, **{"maximum": ""} | typed)
            with still.books() as books:
                assert books.select("SELECT amount, minimum, maximum FROM till WHERE id = ?", till) == [sums]


def test_what_is_wrong_with_a_till_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str, str]] = [
        ({"name": " ", "amount": "1"}, "name", "Enter a name for the till, on one line."),
        ({"name": "n" * 101, "amount": "1"}, "name", "Enter a name for the till, on one line."),
        ({"name": "a\u202eb", "amount": "1"}, "name", "Enter a name for the till, on one line."),
        ({"amount": "1", "note": "n" * 501}, "note", "Enter the text on one line."),
        ({"amount": "1", "currency": "XXX"}, "currency", "Choose one of these."),
        ({}, "maximum", "Enter a fixed amount or a largest amount."),
        ({"minimum": "1"}, "maximum", "Enter a fixed amount or a largest amount."),
        ({"amount": "0"}, "amount", "Enter a valid amount, such as 1,250.00."),
        ({"amount": "tea"}, "amount", "Enter a valid amount, such as 1,250.00."),
        ({"amount": "9" * 16}, "amount", "Enter a valid amount, such as 1,250.00."),
        ({"maximum": "-1"}, "maximum", "Enter a valid amount, such as 1,250.00."),
        ({"amount": "1", "maximum": "2"}, "maximum", "Leave this empty for a fixed amount."),
        ({"minimum": "3", "maximum": "2"}, "maximum", "The largest amount is less than the smallest amount."),
    ]
    for typed, field, says in cases:
        with subtests.test(typed=typed, field=field, says=says):
            path = f"{home(merchant)}/tills"
            boss.open(path)
            assert boss.post(path, **EMPTY | typed).status_code == 422
            assert boss.wrong == {field: says}
            for name in ("amount", "minimum", "maximum", "note"):
                assert boss.value(name) == (EMPTY | typed)[name]
            assert still.send(boss.call("GET", path)).text.count("No tills yet") == 1


@pytest.mark.both_engines
def test_one_form_opens_one_till(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/tills"
    boss.open(path)
    call = boss.posting(path, **EMPTY | {"amount": "1"})
    answers = still.together([call, call])
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["location"] for answer in answers}) == 1
    with still.books() as books:
        assert books.select("SELECT count(*) FROM till WHERE account = ?", int(merchant.account)) == [(1,)]


def test_the_hundred_and_first_till_is_refused_in_words(still: InProcess) -> None:
    boss, merchant = owner(still)
    for _ in range(TILLS_OPEN_MAX):
        new_till(still, merchant)
    path = f"{home(merchant)}/tills"
    boss.open(path)
    assert boss.post(path, **EMPTY | {"amount": "1"}).status_code == 422
    assert "maximum of 100 open tills" in boss.text


def test_a_till_is_closed_after_a_question_and_stays_at_the_end_of_the_list(still: InProcess) -> None:
    boss, merchant = owner(still)
    first, second = opened(boss, merchant, name="First"), opened(boss, merchant, name="Second")
    path = f"{home(merchant)}/tills/{first}"
    boss.open(f"{path}/close")
    call = boss.posting(f"{path}/close")
    boss.follow(boss.post(f"{path}/close"))
    assert "The till was closed" in boss.text
    assert re.findall(r"/tills/(till_\w+)\"", boss.page) == [second, first]
    assert still.send(call).status_code == 303  # Twice is once.
    read = boss.read(path)
    assert "Closed on" in read
    assert "<svg" not in boss.page.partition("<main")[2]
    assert "already closed" in boss.read(f"{path}/close")
    assert boss.open(f"{path}/poster").status_code == 404
    assert "Closed a till" in boss.read(f"{home(merchant)}/activity")


@pytest.mark.both_engines
def test_payments_of_a_till_are_found_by_its_link(still: InProcess) -> None:
    boss, merchant = owner(still)
    first, second = (fixed_till(still, merchant) for _ in range(2))
    made = {}
    for till in (first, second):
        guest = Guest(still)
        guest.open(f"/till/{till}")
        made[till] = guest.post(f"/till/{till}").headers["location"].removeprefix("/pay/")
    worker = PaymentIndexer(still.context.store, still.context.engine)
    while still.run(worker.look()):
        pass
    boss.open(f"{home(merchant)}/tills/{first}")
    [link] = re.findall(r'href="(/business/\d+/payments\?q=[^"]*)"', boss.page)
    boss.open(link)
    assert re.findall(r'href="/business/\d+/payments/(\d{16})"', boss.page) == [made[first]]
    assert first in boss.read(f"{home(merchant)}/payments/{made[first]}")


def test_a_payment_names_the_till_that_it_was_made_at(still: InProcess) -> None:
    boss, merchant = owner(still)
    till, guest = new_till(still, merchant, name="Table <4>", amount=250, minimum=None, maximum=None), Guest(still)
    guest.open(f"/till/{till}")
    payment = guest.post(f"/till/{till}").headers["location"].removeprefix("/pay/")
    assert "Table <4>" in guest.read(f"/pay/{payment}")
    page = f"{home(merchant)}/payments/{payment}"
    assert "Created at the till Table <4>" in boss.read(page)
    assert f'href="{home(merchant)}/tills/{till}"' in boss.page
    cashier = join(still, merchant, "cashier", boss)
    assert "Created at the till Table <4>" in cashier.read(page)
    assert f'href="{home(merchant)}/tills/{till}"' not in cashier.page


def test_a_payment_whose_metadata_names_another_shops_till_was_made_at_none(still: InProcess) -> None:
    boss, merchant = owner(still)
    till = fixed_till(still, still.merchant())
    payment = still.data(create(merchant.key, metadata={"till": till}))["id"]
    assert "Table 4" not in boss.read(f"{home(merchant)}/payments/{payment}")
    assert "Created at the till" not in boss.text
    assert "Table 4" not in Guest(still).read(f"/pay/{payment}")


def test_another_shops_till_is_not_there(still: InProcess) -> None:
    boss, merchant = owner(still)
    foreign = new_till(still, still.merchants[0])
    of_test = new_till(still, merchant, account=int(merchant.test_account))
    unknown = f"till_{'0' * 18}"
    for path in ("", "/poster", "/close"):
        answers = []
        for till in (foreign, of_test, unknown):
            answer = boss.open(f"{home(merchant)}/tills/{till}{path}")
            answers.append((answer.status_code, re.sub(r"req_\w+", "", answer.text).replace(till, "")))
        assert {status for status, _ in answers} == {404}
        assert len(set(answers)) == 1
    assert boss.open(f"/business/{merchant.test_account}/tills/{of_test}").status_code == 200


def test_a_manager_keeps_tills_and_a_form_of_who_has_lost_the_role_is_refused(still: InProcess) -> None:
    boss, merchant = owner(still)
    manager = join(still, merchant, "manager", boss)
    till = opened(manager, merchant)
    manager.open(f"{home(merchant)}/tills/{till}/close")
    call = manager.posting(f"{home(merchant)}/tills/{till}/close")
    manager.open(f"{home(merchant)}/leave")
    manager.post(f"{home(merchant)}/leave")
    assert still.send(call).status_code == 404
    assert "Active" in boss.read(f"{home(merchant)}/tills/{till}")


def test_a_suspended_shop_opens_and_closes_nothing(still: InProcess) -> None:
    boss, merchant = owner(still)
    till = opened(boss, merchant)
    boss.open(f"{home(merchant)}/tills")
    another = boss.posting(f"{home(merchant)}/tills", **EMPTY | {"amount": "1"})
    boss.open(f"{home(merchant)}/tills/{till}/close")
    closing = boss.posting(f"{home(merchant)}/tills/{till}/close")
    still.act("account suspend", account=merchant.account, reason="a test")
    assert [still.send(call).status_code for call in (another, closing)] == [403, 403]
    boss.open(f"{home(merchant)}/tills")
    assert f'action="{home(merchant)}/tills"' not in boss.page


def test_a_poster_is_downloaded_on_the_paper_that_is_asked_for(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    till = opened(boss, merchant, maximum="", amount="2.50")
    cases: list[tuple[str, int]] = [("", 210), ("a4", 210), ("a6", 105)]
    for paper, width in cases:
        with subtests.test(paper=paper, width=width):
            answer = boss.ask(f"{home(merchant)}/tills/{till}/poster", **{"paper": paper} if paper else {})
            assert answer.headers["content-type"] == "application/pdf"
            assert answer.headers["content-disposition"] == f'attachment; filename="{till}-{paper or "a4"}.pdf"'
            [sheet] = PdfReader(io.BytesIO(answer.content)).pages
            assert float(sheet.mediabox.width) == pytest.approx(width / 25.4 * 72, abs=0.1)
            for words in ("Shop", "Table 4", "2.50", "USD", f"/till/{till}"):
                assert words in sheet.extract_text()


def test_a_poster_on_paper_that_there_is_not_is_refused(still: InProcess) -> None:
    boss, merchant = owner(still)
    till = opened(boss, merchant)
    assert boss.ask(f"{home(merchant)}/tills/{till}/poster", paper="a5").status_code == 422
