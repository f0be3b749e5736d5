"""The activity log of a business: who did what, found by person, act and days, and as a file."""

import ast
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import pytest

import qirsh
from qirsh.domain.account import MOVES
from qirsh.domain.bank_order import Kind
from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.proposal import ProposedCommand
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.language.local_time import local_day
from qirsh.store.reads.activity import ACTS_OF_OPERATORS, KINDS_OF_OPERATORS
from tests.live import InProcess
from tests.web.business.staff import CAPS, home, join, owner, refund_form, take
from tests.web.business.test_brand import request

SOURCES: Final = Path(qirsh.__file__).parent
# One of each that takes two operators, and of each kind that has a name of its own.
PROPOSALS: Final[tuple[ProposedCommand, ...]] = (
    *(BookBankTransfer(kind, 1, "slip", 2, "USD", 100) for kind in get_args(Kind)),
    CloseAccount(2),
    AppointOperator("hala@bank.example", "Hala", "admin"),
    ChangeRoles(3, "admin"),
    EndOperator(3),
    RemoveFactors("hala@home.example", 3),
    LiftStop(1),
    ReverseBankTransfer("deposit", 1, "slip", 2, "USD", 100, "before", 3),
    CorrectBalance("deposit", 1, 2, "USD", 100, "ours"),
    OpenHouse("Second bank"),
    RemoveOperatorFactors("hala@home.example", 3),
    ResetPin(3),
    RefundForShop("rf_1", 1, 2, 100, "USD", "1"),
)
OF_SHOPS: Final = [command for command in PROPOSALS if PROPOSED[type(command)].subject(command).startswith("account ")]
# What stands for the names in the actions that rules put together.
PARTS: Final = {
    "account.{action}": [f"account.{state}" for states in MOVES["commercial"].values() for state in states]
    + ["account.resumed"],
    "rule.asked(wanted)": [PROPOSED[type(command)].asked(command) for command in OF_SHOPS],
    "rule.done(wanted)": [PROPOSED[type(command)].done(command) for command in OF_SHOPS],
    "proposal.{state}": ["proposal.refused", "proposal.withdrawn"],
    "staff.two_step_{word}": ["staff.two_step_required", "staff.two_step_not_required"],
    "staff.{action}": ["staff.role_changed", "staff.caps_changed", "staff.left", "staff.removed"],
    "webhook_endpoint.{action}": [
        f"webhook_endpoint.{action}"
        for action in ["created", "updated", "enabled", "paused", "woken", "removed", "rotated", "replayed", "resent"]
    ],
    "{action}": ["till.opened", "till.closed"],
}
# Of people and their personal accounts.
NOT_OF_SHOPS: Final = ("identity.", "session.", "bank_statement.", "bank_line.", "bank_format.", "database.")


def noted_actions() -> Iterator[str]:
    """All that rules note with an account as the subject, or at the beginning of the detail."""
    for path in sorted((SOURCES / "domain" / "rules").glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "note":
                _actor, action, subject, *_detail = (ast.unparse(each) for each in call.args)
                if not subject.startswith(("f'person ", "f'stop ", "'")):
                    name = action.removeprefix("f").strip("'")
                    yield from PARTS.get(name, PARTS["{action}"] if name == "action" else [name])


def test_every_action_that_can_be_noted_for_a_shop_has_a_label(still: InProcess) -> None:
    template = (SOURCES / "web" / "business" / "templates" / "activity.html").read_text()
    labels = set(re.findall(r'"(\w+\.\w+)": _\(', template))
    noted = {action for action in noted_actions() if not action.startswith(NOT_OF_SHOPS)}
    assert {type(command) for command in PROPOSALS} == set(PROPOSED)
    assert {"key.rotated", "account.resumed", "view.saved", "account.close_asked", "proposal.lapsed"} <= noted
    own = {action for action in noted if action in ACTS_OF_OPERATORS or action.partition(".")[0] in KINDS_OF_OPERATORS}
    assert noted - own - labels == set()
    assert own & labels == set()
    boss, merchant = owner(still)
    still.act("account suspend", account=merchant.account)
    still.act("account resume", account=merchant.account)
    text = boss.read(f"{home(merchant)}/activity")
    assert text.index("Resumed the business") < text.index("Suspended the business")
    assert text.count("Approved the business") == 1


def test_amounts_people_roles_and_caps_are_told_by_name(still: InProcess) -> None:
    boss, merchant = owner(still)
    cashier = join(still, merchant, "cashier", boss)
    payment = still.paid(merchant, still.customers[0])
    boss.post(refund_form(boss, home(merchant), payment), amount="0.30", note="")
    boss.open(f"{home(merchant)}/staff")
    [person] = set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', boss.page))
    path = f"{home(merchant)}/staff/{person}"
    for changes in ({"role": "cashier", "cap_usd": "77.00"}, {"role": "developer"}):
        boss.open(path)
        assert boss.post(path, **CAPS | changes).status_code == 303, boss.text
    boss.open(f"{home(merchant)}/staff/invite")
    boss.post(f"{home(merchant)}/staff/invite", **CAPS | {"email": "new@home.example", "role": "viewer"})
    with still.books() as books:
        [(name,)] = books.select("SELECT name FROM person WHERE id = ?", int(person))
    text = " ".join(boss.read(f"{home(merchant)}/activity").split())
    assert "0.30 USD" in text
    assert f"{name} · Before: Cashier, now: Developer" in text
    assert f"{name} · Cashier · 77.00 USD" in text
    assert "new@home.example · Viewer" in text
    assert f"person {person}," not in text
    rows = boss.open(f"{home(merchant)}/activity.csv").text
    for cell in ("0.30 USD", f"{name}: cashier to developer", f"{name}: cashier, 77.00 USD"):
        assert f'"{cell}"' in rows
    # Somebody who was removed is still found by their number.
    boss.open(f"{path}/remove")
    boss.post(f"{path}/remove")
    assert cashier.open(home(merchant)).status_code == 404
    boss.read(f"{home(merchant)}/activity", person=person)
    assert "Joined" in boss.text
    assert f'<option value="{person}" selected' in boss.page
    assert f'<option value="{person}"' in boss.open(f"{home(merchant)}/activity").text


@pytest.mark.both_engines
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


def test_what_makes_no_sense_is_said(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[dict[str, str]] = [{"person": "1"}, {"act": "odd"}, {"after": "odd"}, {"from_": "odd"}]
    for query in cases:
        with subtests.test(query=query):
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


def test_what_operators_only_consider_warns_nobody(still: InProcess) -> None:
    boss, merchant = owner(still)
    asked = still.act("account close", account=merchant.account, reason="A tip from the police")
    decided = {"id": asked["id"], "digest": asked["digest"]}
    before = boss.read(f"{home(merchant)}/activity")
    still.act("proposal refuse", 1, **decided, reason="not enough")
    paid = still.paid(merchant, still.customers[0])
    still.act("account suspend", account=merchant.account)
    refund = still.act("refund ask", payment=paid, reason="never delivered")
    for text in (before, boss.read(f"{home(merchant)}/activity"), boss.read(f"{home(merchant)}/activity.csv")):
        assert "close" not in text.lower()
        assert "proposal" not in text.lower()
        assert "refund" not in text.lower()
    assert boss.ask(f"{home(merchant)}/activity", act="proposal").status_code == 422
    still.act("proposal confirm", 1, id=refund["id"], digest=refund["digest"])
    text = boss.read(f"{home(merchant)}/activity")
    assert "Refunded a payment for the business" in text
    assert "never delivered" not in text
