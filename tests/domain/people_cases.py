"""What people ask for about themselves, and every way to refuse it. `test_decide_precedence` goes through them."""

from typing import Any, Final

from qirsh.domain import counter
from qirsh.domain.challenge import LASTS_MS, Purpose
from qirsh.domain.command import Command
from qirsh.domain.commands.audit_log import RecordExport, RecordFailure, RecordLook
from qirsh.domain.commands.identity import ErasePerson, ForgetImages, ForgetSessions, RejectIdentity, SubmitIdentity
from qirsh.domain.commands.login_credentials import (
    AddPasskey,
    ChangeEmail,
    ChangePassword,
    CountWrongCode,
    ForgetChallenge,
    RemovePasskey,
    RenewPasswordHash,
    ResetPassword,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.commands.mail import MailFailed, MailSent, Notify
from qirsh.domain.commands.payout import CancelPayout, RefusePayout, RequestPayout
from qirsh.domain.commands.person import ChangeProfile, Join
from qirsh.domain.commands.session import CloseSessions, UseLoginCode
from qirsh.domain.limits import PASSKEYS_MAX, PAYOUTS_OPEN_MAX, PIN_ATTEMPTS_MAX, WRONG_CODES_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.person import Passkey
from qirsh.domain.refusal import Refusal
from tests.domain.market import HELD, NOBODY, PIN, WRONG_PIN, Market

R = Refusal
TOKEN: Final = b"t" * 32
CODE: Final = b"the mailed code"
EMAIL: Final = "customer@example.com"
SPENT: Final = {"totp_sealed": b"seed", "wrong_codes": WRONG_CODES_MAX}  # A password that has to be set anew.
LETTERS: Final = (Letter("letter", b"sealed"),)


def challenge(market: Market, purpose: Purpose, email: str = EMAIL, code: bytes = b"") -> None:
    """Something is mailed to the customer."""
    person = market.logins[email].person if email in market.logins else market.customer.id
    market.do(StartChallenge(purpose, email, person, TOKEN, code, ()))


def _join(market: Market) -> Command[Any]:
    challenge(market, "sign-up", "new@example.com", CODE)
    return Join("new@example.com", "New", "", "en", "-", TOKEN, (b"old key", CODE))


def _forget_challenge(market: Market) -> Command[Any]:
    challenge(market, "reset")
    market.now += LASTS_MS["reset"]
    return ForgetChallenge("reset", EMAIL)


def _reset(market: Market) -> Command[Any]:
    challenge(market, "reset")
    return ResetPassword(EMAIL, TOKEN, "new hash", LETTERS)


def _change_email(market: Market) -> Command[Any]:
    challenge(market, "email", "new@example.com")
    return ChangeEmail("new@example.com", EMAIL, market.customer.id, TOKEN, LETTERS)


def _unlock(market: Market) -> Command[Any]:
    challenge(market, "pin", code=CODE)
    return UnlockPin(market.customer.id, EMAIL, b"new", TOKEN, (CODE,), LETTERS)


def _set_factor(market: Market) -> Command[Any]:
    email = "operator.one@example.com"
    market.do(StartChallenge("factor", email, market.first.id, TOKEN, CODE, ()))
    return SetSecondFactor(email, market.first.id, b"seed", 1, b"", LETTERS, b"seed", TOKEN, (CODE,))


def _take_new_address(case: Any) -> None:  # noqa: ANN401 - `test_decide_precedence` has the class
    case.market.logins["new@example.com"] = case.market.logins["other.customer@example.com"]


def passkey(market: Market) -> bytes:
    """One of the customer's."""
    key_id: bytes = market.do(AddPasskey(b"key", market.customer.id, b"public", 0, "phone", ())).id
    return key_id


def _have_already(case: Any) -> None:  # noqa: ANN401 - the same
    case.market.passkeys[case.command.id] = Passkey(case.command.id, case.market.customer.id, b"public", 0, "phone", 1)


def _have_used(case: Any) -> None:  # noqa: ANN401 - the same
    case.ask(challenge=TOKEN)
    case.market.do(AddPasskey(b"another", case.market.other.id, b"public", 0, "phone", (), TOKEN))


def submit(market: Market) -> int:
    """A person who is not verified yet shows who they are; the number of their account."""
    person = market.join("Newcomer")
    images: Any = (("front", b"sealed"), ("back", b"sealed"))
    market.do(SubmitIdentity(person.id, person.account, b"sealed facts", images))
    return person.account


def _identity(market: Market) -> Command[Any]:
    person = market.join("Newcomer")
    return SubmitIdentity(person.id, person.account, b"sealed facts", (("front", b"sealed"),))


def _forget(market: Market) -> Command[Any]:
    account = submit(market)
    owner = market.accounts[account].owner
    assert owner is not None
    market.move(account, "verified")
    return ForgetImages(owner)


def _erase(market: Market) -> Command[Any]:
    person = market.join("Newcomer")
    email = "newcomer@example.com"
    return ErasePerson(person.id, person.account, email, (), (market.request_and_reject(market.owner),), "test")


def _forget_sessions(market: Market) -> Command[Any]:
    person = market.join("Newcomer")
    market.do(ErasePerson(person.id, person.account, "newcomer@example.com", (), (), "test"))
    return ForgetSessions(person.id, (b"s" * 32,))


def ask_payout(market: Market, payout: str = "po_1") -> Command[Any]:
    """A customer wants money at the bank."""
    return RequestPayout(payout, market.customer.account, market.customer.id, "USD", 500, b"sealed bank", (PIN,))


def _asked(market: Market) -> str:
    payout_id: str = market.do(ask_payout(market)).id
    return payout_id


def _leave_money(case: Any) -> None:  # noqa: ANN401 - the same
    case.hold(case.command.account, 1)


PEOPLE_CASES: Final[dict[type[Command[Any]], Any]] = {
    StartChallenge: (lambda _: StartChallenge("sign-up", EMAIL, None, TOKEN, CODE, LETTERS), {}),
    ForgetChallenge: (
        _forget_challenge,
        {R.NOT_EXPIRED: lambda case: challenge(case.market, "reset")},
    ),
    Join: (
        _join,
        {
            R.EMAIL_TAKEN: _take_new_address,
            R.CODE_NOT_VALID: lambda case: case.ask(code_macs=(b"wrong",)),
        },
    ),
    ResetPassword: (
        _reset,
        {
            R.CODE_NOT_VALID: lambda case: case.ask(token_hash=b"wrong"),
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(passkeys=(passkey(case.market), b"and not the other")[1:]),
        },
    ),
    ChangePassword: (
        lambda market: ChangePassword(EMAIL, market.customer.id, "new hash", LETTERS),
        {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)},
    ),
    RenewPasswordHash: (
        lambda market: RenewPasswordHash(EMAIL, market.customer.id, "-", "new hash"),
        {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)},
    ),
    ChangeEmail: (
        _change_email,
        {
            R.EMAIL_TAKEN: _take_new_address,
            R.CODE_NOT_VALID: lambda case: case.ask(token_hash=b"wrong"),
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(instead_of=b"another"),
        },
    ),
    SetSecondFactor: (
        _set_factor,
        {
            R.CODE_NOT_VALID: lambda case: case.ask(code_macs=(b"wrong",)),
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(totp_sealed=None),
            R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id),
        },
    ),
    CountWrongCode: (
        lambda market: CountWrongCode(EMAIL, market.customer.id, "-", LETTERS, ()),
        {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)},
    ),
    UnlockPin: (_unlock, {R.CODE_NOT_VALID: lambda case: case.ask(code_macs=())}),
    AddPasskey: (
        lambda market: AddPasskey(b"key", market.customer.id, b"public", 0, "phone", LETTERS),
        {
            R.TOO_MANY: lambda case: case.fill(counter.passkeys(case.command.person), PASSKEYS_MAX),
            R.PASSKEY_NOT_VALID: _have_already,
            R.CODE_NOT_VALID: _have_used,
            R.NOT_FOUND: lambda case: case.ask(person=NOBODY),
        },
    ),
    RemovePasskey: (
        lambda market: RemovePasskey(passkey(market), market.customer.id, LETTERS),
        {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)},
    ),
    UseLoginCode: (
        lambda market: UseLoginCode(market.customer.id, EMAIL, "-", 0, b""),
        {
            R.CODE_NOT_VALID: lambda case: case.ask(password_hash="another"),
            R.PASSWORD_SPENT: lambda case: case.market.change("logins", EMAIL, **SPENT),
            R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id),
        },
    ),
    CloseSessions: (
        lambda market: CloseSessions(market.customer.id, "test"),
        {R.NOT_FOUND: lambda case: case.ask(person=NOBODY)},
    ),
    ChangeProfile: (
        lambda market: ChangeProfile(market.customer.id, "+963 11 000 0000", "ar", has_notices=False),
        {R.NOT_FOUND: lambda case: case.ask(person=NOBODY)},
    ),
    SubmitIdentity: (
        _identity,
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.account(case.command.account, state="verified"),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.shop),
        },
    ),
    RejectIdentity: (
        lambda market: RejectIdentity(submit(market), "not readable", market.first.id, "test", LETTERS),
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.move(case.command.account, "verified"),
            R.OWN_REQUEST: lambda case: case.account(case.command.account, owner=case.market.first.id),
            R.NOT_FOUND: lambda case: case.ask(account=NOBODY),
        },
    ),
    ForgetImages: (_forget, {R.MOVE_NOT_ALLOWED: lambda case: case.ask(person=case.market.customer.id)}),
    ForgetSessions: (
        _forget_sessions,
        {R.MOVE_NOT_ALLOWED: lambda case: case.ask(person=case.market.customer.id)},
    ),
    ErasePerson: (
        _erase,
        {
            R.MONEY_LEFT: _leave_money,
            R.MOVE_NOT_ALLOWED: lambda case: case.market.operators.update(
                {case.command.person: case.market.operators[case.market.first.id]}
            ),
            R.NOT_FOUND: lambda case: case.ask(email=EMAIL),
        },
    ),
    RequestPayout: (
        ask_payout,
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.command.account, state="suspended"),
            R.NOT_VERIFIED: lambda case: case.account(case.command.account, state="unverified"),
            R.TOO_MANY: lambda case: case.fill(counter.open_payouts(case.command.account), PAYOUTS_OPEN_MAX),
            R.PIN_LOCKED: lambda case: case.market.change("pins", case.command.person, failures=PIN_ATTEMPTS_MAX),
            R.WRONG_PIN: lambda case: case.ask(pin_macs=(WRONG_PIN,)),
            R.INSUFFICIENT_FUNDS: lambda case: case.ask(amount=HELD + 1),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.other.account),
        },
    ),
    CancelPayout: (
        lambda market: CancelPayout(_asked(market), market.customer.id),
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("payouts", "po_1", state="refused"),
            R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id),
        },
    ),
    RefusePayout: (
        lambda market: RefusePayout(_asked(market), "no such bank", market.first.id, "test", LETTERS),
        {
            R.OWN_REQUEST: lambda case: case.account(case.market.customer.account, owner=case.market.first.id),
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("payouts", "po_1", state="cancelled"),
            R.NOT_FOUND: lambda case: case.ask(id="po_404"),
        },
    ),
    # Nothing refuses these.
    MailSent: (lambda _: MailSent("letter"), {}),
    MailFailed: (lambda _: MailFailed("letter", 1), {}),
    Notify: (lambda _: Notify(0, 1, LETTERS), {}),
    RecordExport: (lambda market: RecordExport(market.customer.account, "USD as csv", "test"), {}),
    RecordLook: (lambda market: RecordLook(market.customer.account, "test"), {}),
    RecordFailure: (lambda _: RecordFailure("nobody", "somebody"), {}),
}
