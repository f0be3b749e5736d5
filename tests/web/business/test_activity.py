"""The activity log of a business: who did what, found by person, act and days, and as a file."""

import csv
import io
import re

import pytest

from qirsh.language.local_time import local_day
from tests.live import InProcess
from tests.web.business.staff import home, join, owner, take
from tests.web.business.test_brand import request


def test_what_was_done_is_told_with_who_did_it_newest_first(still: InProcess) -> None:
    boss, merchant = owner(still)
    cashier = join(still, merchant, "cashier", boss)
    still.clock.advance(1000)
    payment = take(cashier, home(merchant), note="=1+1")
    still.clock.advance(1000)
    boss.open(f"{home(merchant)}/payments/{payment}")
    boss.post(f"{home(merchant)}/payments/{payment}/cancel")
    text = boss.read(f"{home(merchant)}/activity")
    assert text.index("Cancelled a payment") < text.index("Created a payment") < text.index("Invited someone")
    assert f"/payments/{payment}" in boss.page
    for query, count in (({"act": "payment"}, 2), ({"act": "staff"}, 2), ({"act": "payout"}, 0)):
        boss.read(f"{home(merchant)}/activity", **query)
        assert len(re.findall(r"<li><div><strong>", boss.page)) == count, query
    people = dict(re.findall(r'<option value="(\d+)"[^>]*>([^<]*)<', boss.page))
    for person in people:
        boss.read(f"{home(merchant)}/activity", person=person)
        assert len(re.findall(r"<li><div><strong>", boss.page)) >= 2
    today = str(local_day(still.now_ms(), still.context.time_zone))
    assert "Created a payment" in boss.read(f"{home(merchant)}/activity", from_=today, to=today)
    assert "Nothing was found" in boss.read(f"{home(merchant)}/activity", to="2020-01-01")


def test_every_line_is_on_one_page(still: InProcess) -> None:
    boss, merchant = owner(still)
    for _ in range(23):
        still.clock.advance(10)
        take(boss, home(merchant))
        boss.open(f"{home(merchant)}/settings")
        boss.post(f"{home(merchant)}/settings", origins="", return_url="", cancel_url="", minutes=str(60 + _))
    seen, path = 0, f"{home(merchant)}/activity"
    while path:
        boss.open(path)
        seen += len(re.findall(r"<li><div><strong>", boss.page))
        older = re.search(r'href="([^"]+)" rel="next"', boss.page)
        path = older[1].replace("&amp;", "&") if older else ""
    answer = boss.open(f"{home(merchant)}/activity.csv")
    rows = list(csv.reader(io.StringIO(answer.text.lstrip("\ufeff"))))
    assert len(rows) - 1 == seen > 40


@pytest.mark.parametrize("query", [{"person": "1"}, {"act": "odd"}, {"after": "odd"}, {"from_": "odd"}])
def test_what_makes_no_sense_is_said(still: InProcess, query: dict[str, str]) -> None:
    boss, merchant = owner(still)
    assert boss.ask(f"{home(merchant)}/activity", **query).status_code == 422


def test_the_log_of_one_account_has_nothing_of_another(still: InProcess) -> None:
    boss, merchant = owner(still)
    other_boss, other = owner(still)
    take(other_boss, home(other))
    assert "Created a payment" not in boss.read(f"{home(merchant)}/activity")
    assert "Created a payment" not in other_boss.read(f"/business/{other.test_account}/activity")


def test_reasons_of_operators_are_not_for_the_shop(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.act("account suspend", account=merchant.account, reason="A tip from the police")
    still.act("account resume", account=merchant.account, reason="The tip was wrong")
    for path in ("activity", "activity.csv"):
        answer = boss.open(f"{home(merchant)}/{path}")
        assert answer.status_code == 200
        assert "tip" not in answer.text
    # What the shop is told on its pages anyway, it reads here too.
    change = request(boss, merchant, name="Royal Bank")
    still.act("brand refuse", account=merchant.account, id=change, reason="You are no bank")
    assert "You are no bank" in boss.read(f"{home(merchant)}/activity")
