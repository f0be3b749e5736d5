"""Of each command about operators: one that is carried out, and every way to spoil it."""

from typing import TYPE_CHECKING, Any, Final

from qirsh.domain.commands.access_order import ConfirmAccessOrder, RequestAccessOrder
from qirsh.domain.commands.operator import (
    AcceptAppointment,
    AppointOperator,
    ConfirmOperator,
    MakeOperator,
    RequestOperatorEnd,
    WithdrawAppointment,
)
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.refusal import Refusal
from tests.domain.market import Market
from tests.domain.world import World

if TYPE_CHECKING:
    from tests.domain.test_decide_precedence import Case

R = Refusal
NEW: Final = "new@example.com"
LINK: Final = b"l" * 32
SECOND: Final = "operator.two@example.com"
CUSTOMER: Final = "customer@example.com"


def appointing(market: Market, **changes: Any) -> AppointOperator:  # noqa: ANN401 - the fields of the command
    """The first operator's wish."""
    fields: dict[str, Any] = {"email": NEW, "name": "New", "operator": market.first.id, "actor": "test"}
    return AppointOperator(**fields | {"token_hash": LINK} | changes)


def agreeing(market: Market, kind: Any = "appoint", **changes: Any) -> ConfirmOperator:  # noqa: ANN401 - the same
    """The second operator's."""
    fields: dict[str, Any] = {"email": NEW, "kind": kind, "actor": "test", "token_hash": LINK} | changes
    proposal = market.operator_proposals.get(fields["email"])
    asked_by = proposal.asked_by if proposal else market.first.id
    return ConfirmOperator(**{"operator": fields.get("operator") or market.second.id, "asked_by": asked_by, **fields})


def accepting(**changes: Any) -> AcceptAppointment:  # noqa: ANN401 - the same
    """The new one's."""
    fields: dict[str, Any] = {"email": NEW, "token_hash": LINK, "language": "ar", "password_hash": "hash"}
    return AcceptAppointment(**{**fields, "totp_sealed": b"sealed", "totp_step": 7, **changes})


def ending(market: Market, email: str = "third@example.com", **changes: Any) -> RequestOperatorEnd:  # noqa: ANN401 - the same
    """The first operator's wish that another is one no longer."""
    fields: dict[str, Any] = {"email": email, "operator": market.first.id, "actor": "test"}
    return RequestOperatorEnd(**fields | changes)


def _asked(market: Market) -> ConfirmOperator:
    market.do(appointing(market))
    return agreeing(market)


def _to_be_blocked(market: Market) -> ConfirmAccessOrder:
    market.do(RequestAccessOrder(CUSTOMER, "block", "lost", market.first.id, "test"))
    return ConfirmAccessOrder(CUSTOMER, "block", market.first.id, market.second.id, "test")


def _ordered_by_themselves(case: "Case") -> None:
    market = case.market
    market.change("access_orders", (market.customer.id, "block"), asked_by=market.second.id)
    case.ask(asked_by=market.second.id)


def _mailed(market: Market) -> AcceptAppointment:
    market.do(_asked(market))
    return accepting()


def _take(case: "Case") -> None:
    case.market.do(AddPerson(NEW, "Another", "-", "test"))


def _first_of_all(market: Market) -> MakeOperator:
    market.operators.clear()
    market.counters.pop("operator")
    return MakeOperator(email="customer@example.com", totp_sealed=b"seed", actor="test")


def _end_all_others(case: "Case") -> None:
    market: World = case.market
    market.change("operators", case.market.second.id, ended_at=market.now)
    case.fill("operator", 1)
    case.ask(email="operator.one@example.com")


def _make_new(case: "Case") -> None:
    case.market.change("operators", case.market.second.id, created_at=case.market.now)


def _asked_by_themselves(case: "Case") -> None:
    case.market.change("operator_proposals", NEW, asked_by=case.market.second.id)
    case.ask(asked_by=case.market.second.id)


def _to_be_withdrawn(market: Market) -> WithdrawAppointment:
    market.do(appointing(market))
    return WithdrawAppointment(email=NEW, operator=market.second.id, actor="test")


OPERATOR_CASES: Final[dict[Any, Any]] = {
    MakeOperator: (
        _first_of_all,
        {
            R.SECOND_OPERATOR_NEEDED: lambda case: case.fill("operator", 1),
            R.NOT_FOUND: lambda case: case.ask(email="nobody@example.com"),
        },
    ),
    AppointOperator: (appointing, {R.EMAIL_TAKEN: lambda case: case.ask(email="customer@example.com")}),
    WithdrawAppointment: (
        _to_be_withdrawn,
        {R.NOT_FOUND: lambda case: case.ask(email="customer@example.com")},
    ),
    RequestOperatorEnd: (
        lambda market: ending(market, SECOND),
        {
            R.LAST_OPERATOR: _end_all_others,
            R.NOT_FOUND: lambda case: case.ask(email="customer@example.com"),
        },
    ),
    ConfirmOperator: (
        _asked,
        {
            R.EMAIL_TAKEN: _take,
            R.OWN_REQUEST: lambda case: case.market.change("operator_proposals", NEW, person=case.market.second.id),
            R.SECOND_OPERATOR_NEEDED: _asked_by_themselves,
            R.ASKER_NOT_OPERATOR: lambda case: case.account(case.market.first.account, state="suspended"),
            R.APPOINTED_RECENTLY: _make_new,
            R.ALREADY_CONFIRMED: lambda case: case.market.change("operator_proposals", NEW, confirmed_by=1),
            R.NOT_FOUND: lambda case: case.ask(kind="end"),
        },
    ),
    RequestAccessOrder: (
        lambda market: RequestAccessOrder(CUSTOMER, "remove-factors", "lost", market.first.id, "test"),
        {
            R.OWN_REQUEST: lambda case: case.ask(email=SECOND, operator=case.market.second.id),
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(email=SECOND),
            R.NOT_FOUND: lambda case: case.ask(email=NEW),
        },
    ),
    ConfirmAccessOrder: (
        _to_be_blocked,
        {
            R.SECOND_OPERATOR_NEEDED: _ordered_by_themselves,
            R.ASKER_NOT_OPERATOR: lambda case: case.account(case.market.first.account, state="suspended"),
            R.NOT_FOUND: lambda case: case.ask(kind="sign-out"),
        },
    ),
    AcceptAppointment: (
        _mailed,
        {
            R.EMAIL_TAKEN: _take,
            R.SECOND_OPERATOR_NEEDED: lambda case: case.market.change("operator_proposals", NEW, confirmed_by=None),
            R.CODE_NOT_VALID: lambda case: case.ask(token_hash=b"wrong"),
        },
    ),
}
