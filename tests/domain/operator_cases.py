"""Of each command about operators and by them about people: one that is carried out, and every way to spoil it."""

from typing import TYPE_CHECKING, Any, Final

from qirsh.domain.commands.access import CarryOutReset, ChangeAccess, KeepSecret, ResetPin
from qirsh.domain.commands.operator import (
    AcceptAppointment,
    AppointOperator,
    EndOperator,
    MakeOperator,
    WithdrawAppointment,
)
from qirsh.domain.commands.operator_session import CloseOperatorSession, OpenOperatorSession
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.commands.recovery import ReadRecovery, RecoverOperator
from qirsh.domain.counter import ADMIN
from qirsh.domain.pending_reset import RESET_AFTER_MS
from qirsh.domain.refusal import Refusal
from tests.domain.market import ALL_ROLES, NOBODY, Market
from tests.domain.proposal_cases import LINK, NEW

if TYPE_CHECKING:
    from tests.domain.test_decide_precedence import Case

R = Refusal
SECOND: Final = "operator.two@example.com"
CUSTOMER: Final = "customer@example.com"


def appointing(market: Market, *, operator: int | None = None, link: bytes = LINK, **changes: Any) -> AskProposal:  # noqa: ANN401 - the fields of the command
    """The first operator's wish, or another's."""
    fields: dict[str, Any] = {"email": NEW, "name": "New", "roles": ALL_ROLES}
    return market.propose(AppointOperator(**fields | changes), operator=operator, link=link)


def agreeing(market: Market, *, operator: int | None = None, link: bytes = LINK) -> ConfirmProposal:
    """The second operator's, or another's."""
    return market.confirm(operator=operator, link=link)


def accepting(market: Market, **changes: Any) -> AcceptAppointment:  # noqa: ANN401 - the same
    """The new one's."""
    fields: dict[str, Any] = {"email": NEW, "token_hash": LINK, "language": "ar", "password_hash": "hash"}
    fields |= {"totp_sealed": b"sealed", "totp_step": 7} | changes
    appointment = market.appointments.get(fields["email"])
    return AcceptAppointment(**{"proposal": appointment.proposal if appointment else "pr_404"} | fields)


def ending(market: Market, person: int, *, operator: int | None = None) -> AskProposal:
    """The first operator's wish, or another's, that somebody is one no longer."""
    return market.propose(EndOperator(person), operator=operator)


def _mailed(market: Market) -> AcceptAppointment:
    market.do(appointing(market))
    market.do(agreeing(market))
    return accepting(market)


def _first_of_all(market: Market) -> MakeOperator:
    market.operators.clear()
    market.counters.pop(ADMIN)
    return MakeOperator(email="customer@example.com", totp_sealed=b"seed", roles=ALL_ROLES, actor="test")


def _to_be_withdrawn(market: Market) -> WithdrawAppointment:
    _mailed(market)
    return WithdrawAppointment(email=NEW, operator=market.second.id, actor="test")


def _signing_in(market: Market) -> OpenOperatorSession:
    return OpenOperatorSession(
        hash=bytes(32),
        person=market.second.id,
        operator=market.second.id,
        actor="test",
        address="192.0.2.7",
        email=SECOND,
        password_hash=market.logins[SECOND].password_hash,
        totp_step=2**40,
    )


def _due(market: Market) -> CarryOutReset:
    market.agree(ResetPin(market.customer.id))
    market.now += RESET_AFTER_MS
    return CarryOutReset(market.customer.id, "pin", CUSTOMER)


def _to_be_kept(market: Market) -> KeepSecret:
    market.agree(ResetPin(market.customer.id))
    return KeepSecret(market.customer.id, "pin", "test")


def recovering(market: Market) -> RecoverOperator:
    """The second operator is let in again."""
    return RecoverOperator(
        id="rec_1",
        person=market.second.id,
        account=market.second.account,
        email=SECOND,
        password_hash="new hash",
        totp_sealed=b"new seed",
        passkeys=(),
        by="os user root",
    )


def _recovered(market: Market) -> ReadRecovery:
    market.do(recovering(market))
    return ReadRecovery("rec_1", market.first.id, "test")


def _forget_who_agreed(case: "Case") -> None:
    case.market.change("proposals", case.command.proposal, decided_by=None)


OPERATOR_CASES: Final[dict[Any, Any]] = {
    MakeOperator: (
        _first_of_all,
        {
            R.SECOND_OPERATOR_NEEDED: lambda case: case.fill(ADMIN, 1),
            R.NOT_FOUND: lambda case: case.ask(email="nobody@example.com"),
        },
    ),
    WithdrawAppointment: (
        _to_be_withdrawn,
        {R.NOT_FOUND: lambda case: case.ask(email="customer@example.com")},
    ),
    AcceptAppointment: (
        _mailed,
        {
            R.EMAIL_TAKEN: lambda case: case.market.do(AddPerson(NEW, "Another", "-", "test")),
            R.SECOND_OPERATOR_NEEDED: _forget_who_agreed,
            R.CODE_NOT_VALID: lambda case: case.ask(token_hash=b"wrong"),
        },
    ),
    OpenOperatorSession: (
        _signing_in,
        {
            R.CODE_NOT_VALID: lambda case: case.ask(totp_step=0),
            R.PASSKEY_NOT_VALID: lambda case: case.ask(passkey=b"unknown"),
        },
    ),
    CloseOperatorSession: (lambda market: CloseOperatorSession(market.second.id, b"none" * 8, "test"), {}),
    ChangeAccess: (
        lambda market: ChangeAccess(CUSTOMER, "block", "stolen phone", market.first.id, "test"),
        {
            R.OWN_REQUEST: lambda case: case.ask(email=SECOND, operator=case.market.second.id),
            R.NOT_FOUND: lambda case: case.ask(email=NEW),
        },
    ),
    # Nothing refuses it: what was stopped meanwhile is an outcome.
    CarryOutReset: (_due, {}),
    KeepSecret: (
        _to_be_kept,
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change(
                "pending_resets", (case.market.customer.id, "pin"), state="done"
            ),
            R.NOT_FOUND: lambda case: case.ask(what="factors"),
        },
    ),
    RecoverOperator: (
        recovering,
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.account(case.command.account, state="closed"),
            R.NOT_FOUND: lambda case: case.ask(person=NOBODY),
        },
    ),
    ReadRecovery: (_recovered, {R.NOT_FOUND: lambda case: case.ask(id="rec_404")}),
}
