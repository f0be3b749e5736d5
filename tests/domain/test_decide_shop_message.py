"""Operators and owners of businesses write to each other: who may, how often, and what counts as read."""

from typing import Any

from qirsh.domain.commands.account import MoveAccount
from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators, WriteToShop
from qirsh.domain.limits import MESSAGES_IN_A_ROW_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal
from tests.domain.market import Market
from tests.domain.staff_cases import join
from tests.each import each


def writing(market: Market, name: str = "msg_1", **changes: Any) -> WriteToShop:  # noqa: ANN401 - the fields of the command
    fields: dict[str, Any] = {
        "account": market.shop,
        "text": "What do you sell?",
        "operator": market.first.id,
        "actor": "test",
        "letters": (Letter(f"about {name}", b"sealed"),),
    }
    return WriteToShop(name, **fields | changes)


def answering(market: Market, name: str = "msg_2", **changes: Any) -> WriteToOperators:  # noqa: ANN401 - the same
    fields: dict[str, Any] = {"account": market.shop, "text": "Bread", "member": market.owner.id}
    return WriteToOperators(name, **fields | changes)


def test_a_message_is_mailed_once_noted_and_answered_once() -> None:
    market = Market()
    first = market.do(writing(market))
    assert market.do(writing(market)) == first
    assert list(market.mails) == ["about msg_1"]
    market.now += 5
    answer = market.do(answering(market))
    assert market.do(answering(market, text="Cake")) == answer
    assert [(one.author, one.text, one.read_at) for one in market.shop_messages.values()] == [
        ("operator", "What do you sell?", None),
        ("owner", "Bread", None),
    ]
    noted = [(entry.action, entry.subject) for entry in market.audit if entry.action.startswith("message.")]
    assert noted == [(f"message.{what}", f"account {market.shop}") for what in ("sent", "answered")]


def test_each_side_reads_what_the_other_wrote_and_that_once() -> None:
    market = Market()
    market.do(writing(market))
    market.do(answering(market))
    both = ("msg_1", "msg_2", "msg_404")
    began = market.now = market.now + 10
    assert market.do(ReadShopMessages(market.shop, both, member=market.owner.id)) == 1
    market.now += 10
    assert market.do(ReadShopMessages(market.shop, both, member=market.owner.id)) == 0
    assert market.do(ReadShopMessages(market.shop, both, operator=market.first.id)) == 1
    assert market.shop_messages["msg_1"].read_at == began
    assert market.shop_messages["msg_2"].read_at == began + 10


def test_an_owner_whom_nobody_answers_writes_twenty_and_then_waits() -> None:
    market = Market()
    for number in range(MESSAGES_IN_A_ROW_MAX):
        market.do(answering(market, f"msg_{number}"))
    assert market.refuse(answering(market, "msg_more")).why is Refusal.TOO_MANY
    market.do(writing(market, "msg_answer"))
    market.do(answering(market, "msg_more"))


@each("state", ["requested", "rejected", "suspended"])
def test_messages_go_on_in_every_state_but_the_last(state: str) -> None:
    market = Market()
    market.change("accounts", market.shop, state=state)
    market.do(writing(market))
    market.do(answering(market))
    market.change("accounts", market.shop, state="closed")
    assert market.refuse(writing(market, "msg_3")).why is Refusal.ACCOUNT_SUSPENDED
    assert market.refuse(answering(market, "msg_4")).why is Refusal.ACCOUNT_SUSPENDED


def test_only_operators_and_the_owner_write_and_none_to_themselves() -> None:
    market = Market()
    manager = join(market, market.customer, "manager").person
    assert market.refuse(answering(market, member=manager)).why is Refusal.MISSING_RIGHT
    assert market.refuse(answering(market, member=market.other.id)).why is Refusal.NOT_FOUND
    assert market.refuse(answering(market, account=market.till)).why is Refusal.NOT_FOUND
    assert market.refuse(writing(market, operator=market.owner.id)).why is Refusal.NOT_OPERATOR
    market.change("accounts", market.shop, owner=market.second.id)
    assert market.refuse(writing(market, operator=market.second.id)).why is Refusal.OWN_REQUEST
    market.do(writing(market))
    assert market.refuse(ReadShopMessages(market.shop, ("msg_1",), member=manager)).why is Refusal.MISSING_RIGHT
    assert market.shop_messages["msg_1"].read_at is None


def test_an_operator_who_was_suspended_writes_nothing() -> None:
    market = Market()
    market.do(MoveAccount(market.first.account, "suspended", market.second.id, "", "test"))
    assert market.refuse(writing(market)).why is Refusal.NOT_OPERATOR
