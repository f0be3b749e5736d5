"""Help by operators: a refund for a shop that is suspended, and an operator who is let in again from the machine."""

from typing import Any

import pytest

from qirsh.web.operator.action import ActionRefused
from qirsh.web.operator.recovery import recover_operator
from tests.live import PASSWORD, Call, InProcess, Merchant, Operator
from tests.mailbox import words_to
from tests.web.operator.conftest import Opened
from tests.web.operator.console import ConsoleGuest, console, operator_with
from tests.web.tenant import login_of

NEW_PASSWORD = "seven green lamps at noon"


@pytest.fixture
def world(opened: Opened) -> InProcess:
    held = opened(1, 2)
    if not held.context.has_mail:
        held.change(has_mail=True)
    return held


def code(world: InProcess, act: str, operator: int = 0, /, **words: str) -> str:
    return world.run(world.tried(act, words, operator)).code


def suspended(world: InProcess) -> tuple[Merchant, str]:
    """A shop that got 1.00 USD and cannot act any more, and the payment."""
    [shop] = world.merchants
    payment = world.paid(shop, world.customers[0])
    world.act("account suspend", account=shop.account)
    return shop, payment


# Refunds.


@pytest.mark.both_engines
def test_two_operators_refund_for_a_suspended_shop_as_the_shop_would(world: InProcess) -> None:
    shop, payment = suspended(world)
    held = world.balance(world.customers[0])
    words: dict[str, Any] = {"payment": payment, "reason": "never delivered"}
    assert code(world, "refund ask", **words, amount="1e9") == "invalid"
    assert code(world, "refund ask", **words, amount="999.00") == "refund_exceeds"
    assert code(world, "refund ask", **{**words, "payment": "1234"}) == "not_found"
    asked = world.act("refund ask", **words, amount="0.40", note="Sorry")
    assert (asked["action"], asked["about"], asked["payment"]) == ("refund", f"account {shop.account}", payment)
    assert (asked["refund"], asked["note"]) == ("0.40 USD", "Sorry")
    assert code(world, "proposal confirm", 0, id=asked["id"], digest=asked["digest"]) == "second_operator_needed"
    assert world.balance(world.customers[0]) == held
    world.act("proposal confirm", 1, id=asked["id"], digest=asked["digest"])
    assert world.balance(world.customers[0]) == held + 40
    told = words_to(world, shop.email)["refund_for_shop"]
    assert (told["amount"], told["payment"]) == (40, payment)
    refunds = world.data(Call("GET", f"/api/v1/remote-payments/{payment}/refunds", shop.key))["items"]
    assert [(one["amount"], one["note"]) for one in refunds] == [(40, "Sorry")]
    rest = world.agree("refund ask", **words)
    assert rest["refund"] == "0.60 USD"
    assert world.balance(world.customers[0]) == held + 100


def test_a_shop_that_is_not_suspended_refunds_by_itself(world: InProcess) -> None:
    shop, payment = suspended(world)
    asked = world.act("refund ask", payment=payment, reason="never delivered")
    world.act("account resume", account=shop.account)
    assert code(world, "proposal confirm", 1, id=asked["id"], digest=asked["digest"]) == "move_not_allowed"
    assert code(world, "refund ask", payment=payment, reason="never delivered") == "move_not_allowed"


@pytest.mark.usefixtures("alone")
def test_the_same_form_asks_once(world: InProcess) -> None:
    _, payment = suspended(world)
    words: dict[str, Any] = {"payment": payment, "reason": "never delivered", "key": "0123456789abcdef01"}
    assert world.act("refund ask", **words)["id"] == world.act("refund ask", **words)["id"]
    assert len(world.act("proposal list")["items"]) == 1


def test_the_page_of_the_proposal_tells_what_is_refunded(world: InProcess) -> None:
    _, payment = suspended(world)
    asked = world.act("refund ask", payment=payment, reason="never delivered", note="Sorry")
    text = console(world, 1).read(f"/operator/proposals/{asked['id']}")
    for told in ("Refund for a suspended business", "1.00", payment, "Sorry", "never delivered"):
        assert told in text


# Addresses.


@pytest.mark.usefixtures("alone")
def test_the_address_of_whom_a_proposal_is_about_is_for_those_who_may_see_contacts(world: InProcess) -> None:
    auditor, support = operator_with(world, "auditor"), operator_with(world, "support")
    words: dict[str, Any] = {"reason": "wanted", "roles": "admin"}
    about = (
        ("access reset-pin", world.customers[0].email),
        ("operator roles", world.operators[1].email),
        ("operator create", "new@bank.example"),
    )
    asked = {email: world.act(act, email=email, name="Hala", **words)["id"] for act, email in about}
    for operator, is_told in ((auditor, False), (support, True)):
        guest = console(world, operator)
        listed = {one["id"]: one for one in world.act("proposal list", operator)["items"]}
        for email, proposal in asked.items():
            assert (email in guest.read(f"/operator/proposals/{proposal}")) == is_told, email
            shown = world.act("proposal show", operator, id=proposal)
            assert shown == listed[proposal]
            assert shown.get("email") == (email if is_told else None)
            assert is_told or email not in str(shown)


# Recovery.


def recover(world: InProcess, email: str, password: str = NEW_PASSWORD) -> dict[str, Any]:
    words = {"email": email, "password": password}
    return world.run(recover_operator(world.context, words, "os user root"))


def test_an_operator_gets_in_again_is_an_admin_and_every_admin_reads_of_it(world: InProcess) -> None:
    third = operator_with(world, "auditor")
    lost = world.operators[third]
    done = recover(world, lost.email)
    assert code(world, "account list", third) == "wrong_credentials"
    guest = ConsoleGuest(world)
    answer = guest.sign_in_to_console(Operator(lost.email, done["totpSecret"]), NEW_PASSWORD)
    assert answer.status_code == 303
    listed = {one["email"]: one["roles"] for one in world.act("operator list")["operators"]}
    assert listed[lost.email] == "admin auditor"
    for operator in world.operators:
        assert words_to(world, operator.email)["operator_recovered"]["new_email"] == lost.email
    [unread] = world.act("recovery list")["items"]
    assert (unread["id"], unread["by"]) == (done["id"], "os user root")
    first = console(world)
    assert "os user root" in first.read("/operator/recoveries")
    answer = first.post(f"/operator/recoveries/{done['id']}/read")
    assert answer.status_code == 303
    assert world.act("recovery list")["items"] == []
    assert "Nothing to read" in first.read("/operator/recoveries")
    assert code(world, "recovery read", id="rec_404") == "not_found"


def test_nobody_but_an_operator_is_let_in_and_weak_words_are_refused(world: InProcess) -> None:
    for email, password, why in (
        (world.customers[0].email, NEW_PASSWORD, "not_found"),
        ("nobody@home.example", NEW_PASSWORD, "not_found"),
        ("nobody", NEW_PASSWORD, "invalid"),
        (world.operators[0].email, "short", "invalid"),
    ):
        before = world.counts()
        with pytest.raises(ActionRefused) as refused:
            recover(world, email, password)
        assert refused.value.code == why
        assert world.counts() == before
    assert login_of(world, world.operators[0].email).totp_sealed is not None
    assert code(world, "account list") == ""
    assert PASSWORD != NEW_PASSWORD
