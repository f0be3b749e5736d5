"""What the console tells of refusals, audit entries and checks stands in the language of the page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar, get_args

import pytest

import qirsh
from qirsh.domain.account import MOVES
from qirsh.domain.refusal import Refusal
from qirsh.domain.webhook import EndpointState
from qirsh.language.audit_acts import ACT_TEXTS, act_text
from qirsh.language.check_texts import CHECK_TEXTS
from qirsh.language.refusal_texts import REFUSAL_TEXTS
from qirsh.store.integrity import audited
from qirsh.web.operator.action import ActionRefused, Sum
from tests.live import in_process
from tests.web.account.test_identity_page import submitted
from tests.web.operator.console import console

SOURCES: Final = Path(qirsh.__file__).parent
ACT: Final = re.compile(r"[a-z_]+\.[a-z_]*[a-z]")
Node = TypeVar("Node", bound=ast.expr)
# Only the command line tells these: it speaks English.
OF_COMMAND_LINE: Final = frozenset({"control.py", "recovery.py"})
# What is told already stands in these, in words of its own.
WORDS_OF_OTHERS: Final = frozenset({"%(why)s", "%(fault)s"})
# What no action of an operator meets.
OF_OTHERS: Final = frozenset(
    {
        Refusal.IDEMPOTENCY_KEY_REUSED,
        Refusal.SIGN_IN_BLOCKED,
        Refusal.CODE_NOT_VALID,
        Refusal.PASSWORD_SPENT,
        Refusal.ALREADY_PAID,
        Refusal.CANCELLED,
        Refusal.EXPIRED,
        Refusal.NOT_EXPIRED,
        Refusal.REPLAY_RUNNING,
        Refusal.BANK_ACCOUNT_NEW,
        Refusal.SAME_ACCOUNT,
        Refusal.MERCHANT_SUSPENDED,
        Refusal.URL_NOT_REGISTERED,
        Refusal.PIN_LOCKED,
        Refusal.WRONG_PIN,
        Refusal.PASSKEY_NOT_VALID,
        Refusal.OWN_PAYMENT,
        Refusal.REFUND_CAP,
    }
)
# Actions that rules put together, by the part of them that is written there.
PUT_TOGETHER: Final = {
    "account.": {*(to for moves in MOVES.values() for each in moves.values() for to in each), "resumed"},
    "staff.": {"invited", "declined", "joined", "role_changed", "caps_changed", "left", "removed"},
    "staff.two_step_": {"required", "not_required"},
    "webhook_endpoint.": {"created", "updated", "woken", "rotated", "replayed", "resent", *get_args(EndpointState)},
    "proposal.": {"refused", "withdrawn", "lapsed"},
    ".asked": {"deposit", "withdrawal"},
    ".confirmed": {"deposit", "withdrawal"},
}


def nodes(folder: str, kind: type[Node]) -> Iterator[tuple[str, Node]]:
    for path in sorted((SOURCES / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kind):
                yield path.name, node


def test_every_act_of_the_audit_log_has_its_text() -> None:
    written = {node.value for _, node in nodes("domain/rules", ast.Constant) if isinstance(node.value, str)}
    acts = {text for text in written if ACT.fullmatch(text)}
    made = set()
    for _, node in nodes("domain/rules", ast.JoinedStr):
        parts = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        if re.fullmatch(r"[a-z_]+\.[a-z_]*|\.[a-z_]+", parts):
            made.add(parts)
    assert made == set(PUT_TOGETHER)
    for part, others in PUT_TOGETHER.items():
        acts |= {f"{other}{part}" if part.startswith(".") else f"{part}{other}" for other in others}
    assert acts == set(ACT_TEXTS)


def test_every_check_of_the_auditor_has_its_text() -> None:
    assert set(CHECK_TEXTS) == {*audited.OF_MONEY, *audited.TOLD}


def test_every_refusal_that_an_operator_meets_has_its_text() -> None:
    assert set(REFUSAL_TEXTS) == {refusal.value for refusal in Refusal if refusal not in OF_OTHERS}


def test_every_refusal_of_an_action_is_a_text_that_is_translated() -> None:
    """A sentence that is put together would never be found in the files of the translators."""
    faults = []
    for file, call in nodes("web/operator", ast.Call):
        if ast.unparse(call.func) != "ActionRefused" or file in OF_COMMAND_LINE or len(call.args) == 1:
            continue
        message = call.args[1]
        choices = [message.body, message.orelse] if isinstance(message, ast.IfExp) else [message]
        for choice in choices:
            is_marked = isinstance(choice, ast.Call) and ast.unparse(choice.func) == "_"
            is_named = isinstance(choice, ast.Name | ast.Subscript)
            is_told = isinstance(choice, ast.Constant) and choice.value in WORDS_OF_OTHERS
            if not (is_marked or is_named or is_told):
                faults.append(f"{file}:{call.lineno}: {ast.unparse(choice)}")
    assert faults == []


def test_a_refusal_is_told_in_the_language_of_the_page_and_in_english_at_the_command_line() -> None:
    refused = ActionRefused("invalid", "must be 1 to %(most)s", field="days", most=90)
    assert refused.detail == "days: must be 1 to 90"
    assert [refused.told(code) for code in ("en", "tr")] == ["must be 1 to 90", "1 ile 90 arasında olmalıdır"]
    assert refused.told("ar") == "يجب أن يكون من 1 إلى \u206890\u2069"
    short = ActionRefused("insufficient_funds", "%(sum)s", sum=Sum(123450, "TRY"))
    assert (short.detail, short.told("tr")) == ("1234.50 TRY", "1.234,50 TRY")
    assert ActionRefused("too_many").told("tr") == "En yüksek sayıya ulaşıldı."


def test_an_act_of_an_older_version_is_shown_as_the_log_has_it() -> None:
    assert act_text("ar", "account.of_old") == "account.of_old"


@pytest.mark.parametrize(
    ("language", "act", "refusal", "check"),
    [
        ("ar", "أُوقف الحساب", "هذا الحساب موقوف بالفعل.", "في كل عملة، المدين يساوي الدائن"),
        (
            "tr",
            "Hesap askıya alındı",
            "Bu hesap zaten askıda.",
            "her para biriminde borçlar alacaklara eşittir",
        ),
    ],
)
def test_pages_of_the_console_tell_acts_refusals_and_checks_in_their_language(
    language: str, act: str, refusal: str, check: str
) -> None:
    with in_process(None, shops=0, people=1) as world:
        guest = console(world)
        account = world.customers[0].account
        guest.language = language
        suspend = f"/operator/accounts/{account}/suspend"
        for status in (303, 409):
            guest.open(suspend)
            assert guest.post(suspend, reason="x").status_code == status
        assert refusal in guest.text
        with world.books() as books:
            [(person,)] = books.select("SELECT id FROM person WHERE account = ?", account)
        assert act in guest.read(f"/operator/people/{person}")
        assert act in guest.read("/operator/audit")
        assert check in guest.read("/operator/ledger")


def test_sums_of_proposals_are_written_as_the_language_of_the_page_writes_them() -> None:
    with in_process(None, shops=0, people=1) as world:
        guest, account = console(world), world.customers[0].account
        asked = world.act(
            "deposit ask", 1, account=account, amount="1234.50", currency="TRY", reference="slip", reason="cash"
        )
        for language, said in (("tr", "1.234,50 TRY"), ("ar", "1,234.50 ليرة تركية"), ("en", "1,234.50 TRY")):
            guest.language = language
            assert said in guest.read("/operator/proposals")
            assert '<bdi class="num">' in guest.page
            assert said in guest.read(f"/operator/proposals/{asked['id']}")


def test_the_names_on_an_identity_document_are_not_called_those_of_the_operator() -> None:
    with in_process(None, shops=0, people=1) as world:
        world.change(has_mail=True)
        _, account = submitted(world)
        guest = console(world)
        guest.language = "tr"
        text = guest.read(f"/operator/identities/{account}")
        assert "Adınız" not in text
        assert "Soyadınız" not in text
