"""What is mailed, passwords, second factors and passkeys: each proof works for whom it was made, and once."""

import msgspec
import pytest

from qirsh.domain.challenge import LASTS_MS
from qirsh.domain.commands.login_credentials import (
    AddPasskey,
    ChangeEmail,
    ChangePassword,
    ForgetChallenge,
    RemovePasskey,
    ResetPassword,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.commands.mail import MailFailed, MailSent, Notify
from qirsh.domain.commands.payment import Pay
from qirsh.domain.commands.person import Join
from qirsh.domain.commands.session import CloseSessions, OpenSession, UseLoginCode
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import CODE_ATTEMPTS_MAX, PIN_ATTEMPTS_MAX
from qirsh.domain.mail import Mail
from qirsh.domain.payment import Payment
from qirsh.domain.person import Pin
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.people_cases import CODE, EMAIL, LETTERS, TOKEN, challenge, passkey
from tests.each import each

OTHER = "other.customer@example.com"


@pytest.fixture
def market() -> Market:
    return Market()


def joining(code: bytes = CODE, token: bytes = TOKEN) -> Join:
    return Join("new@example.com", "New", "+963 11", "ar", "hash", token, (code,))


def test_a_person_joins_with_the_code_that_was_mailed(market: Market) -> None:
    challenge(market, "sign-up", "new@example.com", CODE)
    person = market.do(joining())
    assert (person.name, person.phone, person.language, person.has_notices) == ("New", "+963 11", "ar", True)
    assert market.accounts[person.account].state == "unverified"
    assert market.logins["new@example.com"].person == person.id
    assert market.challenges == {}
    assert complaints(market) == []


def test_a_code_works_once_and_its_tries_are_counted_also_at_once(market: Market) -> None:
    challenge(market, "sign-up", "new@example.com", CODE)
    outcomes = market.together(*[joining(b"wrong")] * CODE_ATTEMPTS_MAX, joining())
    assert [outcome.attempts_left for outcome in outcomes] == [4, 3, 2, 1, 0, 0]
    assert "new@example.com" not in market.logins
    challenge(market, "sign-up", "new@example.com", CODE)
    first, second = market.together(joining(), joining())
    assert type(first) is not Refused
    assert second.why is Refusal.CODE_NOT_VALID


@each("token", [b"x" * 32, b""])
def test_a_code_is_nothing_without_the_page_it_was_asked_from(market: Market, token: bytes) -> None:
    challenge(market, "sign-up", "new@example.com", CODE)
    assert market.refuse(joining(token=token)) == Refused(Refusal.CODE_NOT_VALID, attempts_left=0)


def test_what_was_mailed_ends_with_its_time_and_with_the_next_mail(market: Market) -> None:
    challenge(market, "reset")
    market.do(StartChallenge("reset", EMAIL, market.customer.id, b"n" * 32, b"", ()))
    assert market.refuse(ResetPassword(EMAIL, TOKEN, "new", ())).why is Refusal.CODE_NOT_VALID
    market.now += LASTS_MS["reset"]
    assert market.refuse(ResetPassword(EMAIL, b"n" * 32, "new", ())).why is Refusal.CODE_NOT_VALID
    market.now -= 1
    market.do(ResetPassword(EMAIL, b"n" * 32, "new", ()))


def test_a_reset_ends_every_session_and_works_once(market: Market) -> None:
    challenge(market, "reset")
    revocations = market.counters[REVOCATION].last if REVOCATION in market.counters else 0
    market.do(ResetPassword(EMAIL, TOKEN, "new hash", LETTERS))
    assert market.logins[EMAIL].password_hash == "new hash"
    assert market.people[market.customer.id].session_generation == 1
    assert market.counters[REVOCATION].last == revocations + 1
    assert market.mails == {"letter": Mail("letter", b"sealed", market.now, market.now, 0)}
    assert market.refuse(ResetPassword(EMAIL, TOKEN, "newer", ())).why is Refusal.CODE_NOT_VALID


def test_a_reset_leaves_the_second_factor(market: Market) -> None:
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"codes", ()))
    challenge(market, "reset")
    market.do(ResetPassword(EMAIL, TOKEN, "new hash", ()))
    assert (market.logins[EMAIL].totp_sealed, market.logins[EMAIL].recovery) == (b"seed", b"codes")


def test_a_reset_that_was_mailed_to_a_former_address_is_dead(market: Market) -> None:
    challenge(market, "reset")
    market.do(StartChallenge("email", "new@example.com", market.customer.id, b"e" * 32, b"", ()))
    market.do(ChangeEmail("new@example.com", EMAIL, market.customer.id, b"e" * 32, ()))
    assert EMAIL not in market.logins
    assert market.refuse(ResetPassword(EMAIL, TOKEN, "new", ())).why is Refusal.CODE_NOT_VALID
    # Somebody else takes the address: the old link does not open their door either.
    market.do(StartChallenge("sign-up", EMAIL, None, b"s" * 32, CODE, ()))
    market.do(Join(EMAIL, "Next", "", "en", "-", b"s" * 32, (CODE,)))
    assert market.refuse(ResetPassword(EMAIL, TOKEN, "new", ())).why is Refusal.CODE_NOT_VALID
    assert complaints(market) == []


def test_an_address_goes_to_whom_the_link_was_mailed(market: Market) -> None:
    """Two ask for the same one; the second mail takes the place of the first."""
    market.do(StartChallenge("email", "new@example.com", market.other.id, b"o" * 32, b"", ()))
    market.do(StartChallenge("email", "new@example.com", market.customer.id, TOKEN, b"", ()))
    by_other = ChangeEmail("new@example.com", OTHER, market.other.id, b"o" * 32, ())
    assert market.refuse(by_other).why is Refusal.CODE_NOT_VALID
    assert market.refuse(msgspec.structs.replace(by_other, token_hash=TOKEN)).why is Refusal.CODE_NOT_VALID
    market.do(ChangeEmail("new@example.com", EMAIL, market.customer.id, TOKEN, ()))
    assert market.logins["new@example.com"].person == market.customer.id
    assert market.logins["new@example.com"].password_hash == "-"


def test_a_second_factor_that_began_meanwhile_is_not_taken_to_a_new_address(market: Market) -> None:
    market.do(StartChallenge("email", "new@example.com", market.customer.id, TOKEN, b"", ()))
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"sealed", 0, b"", ()))
    change = ChangeEmail("new@example.com", EMAIL, market.customer.id, TOKEN, ())
    assert market.refuse(change).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(change, totp_sealed=b"sealed anew", instead_of=b"sealed"))
    assert market.logins["new@example.com"].totp_sealed == b"sealed anew"


def test_two_who_change_to_one_address_in_one_commit_do_not_share_it(market: Market) -> None:
    market.do(StartChallenge("email", "new@example.com", market.customer.id, TOKEN, b"", ()))
    change = ChangeEmail("new@example.com", EMAIL, market.customer.id, TOKEN, ())
    first, second = market.together(change, change)
    assert (first, second.why) == (market.customer.id, Refusal.CODE_NOT_VALID)


def opening(market: Market, serial: int, **proof: object) -> OpenSession:
    fields: dict[str, object] = {"email": EMAIL, "actor": "test"}
    return OpenSession(
        hash=bytes([serial]) * 32,
        person=market.customer.id,
        account=market.customer.account,
        **fields | proof,  # type: ignore[arg-type]
    )


def test_a_code_of_the_second_factor_opens_one_session(market: Market) -> None:
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"", ()))
    assert market.refuse(opening(market, 1, totp_step=5)).why is Refusal.CODE_NOT_VALID
    first, again = market.together(opening(market, 1, totp_step=6), opening(market, 2, totp_step=6))
    assert type(first) is not Refused
    assert again == Refused(Refusal.CODE_NOT_VALID)
    assert market.refuse(opening(market, 3, totp_step=4)).why is Refusal.CODE_NOT_VALID
    market.do(opening(market, 4, totp_step=7))


def test_a_session_never_opens_past_a_second_factor(market: Market) -> None:
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"", ()))
    assert market.refuse(opening(market, 1)).why is Refusal.CODE_NOT_VALID


def proof(market: Market, **used: object) -> UseLoginCode:
    fields: dict[str, object] = {"password_hash": "-", "totp_step": 0, "recovery_hash": b""}
    return UseLoginCode(market.customer.id, EMAIL, **fields | used)  # type: ignore[arg-type]


def test_a_proof_for_a_change_uses_the_code_up_as_a_session_does(market: Market) -> None:
    market.do(proof(market))
    one = b"1" * 36
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, one, ()))
    assert market.refuse(proof(market)).why is Refusal.CODE_NOT_VALID
    assert market.refuse(proof(market, totp_step=5)).why is Refusal.CODE_NOT_VALID
    first, *others = market.together(
        proof(market, totp_step=6), proof(market, totp_step=6), opening(market, 1, totp_step=6)
    )
    assert first == market.customer.id
    assert others == [Refused(Refusal.CODE_NOT_VALID)] * 2
    first, again = market.together(proof(market, recovery_hash=one), opening(market, 2, recovery_hash=one))
    assert (first, again) == (market.customer.id, Refused(Refusal.CODE_NOT_VALID))
    assert market.refuse(proof(market, password_hash="old", totp_step=9)).why is Refusal.CODE_NOT_VALID


def test_a_second_factor_takes_the_place_of_the_one_that_was_seen(market: Market) -> None:
    """Two tabs at once: the second does not undo the first."""
    begin = SetSecondFactor(EMAIL, market.customer.id, b"one", 5, b"", ())
    first, second = market.together(begin, msgspec.structs.replace(begin, totp_sealed=b"two", letters=LETTERS))
    assert (first, second) == (market.customer.id, Refused(Refusal.MOVE_NOT_ALLOWED))
    assert market.logins[EMAIL].totp_sealed == b"one"
    assert market.mails == {}
    end = SetSecondFactor(EMAIL, market.customer.id, None, 0, b"", ())
    assert market.refuse(end).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(end, instead_of=b"one"))
    # Whoever renewed their recovery codes meanwhile does not bring it back.
    renewed = SetSecondFactor(EMAIL, market.customer.id, b"one", 0, b"codes", (), instead_of=b"one")
    assert market.refuse(renewed).why is Refusal.MOVE_NOT_ALLOWED
    assert market.logins[EMAIL].totp_step == 5


def test_the_audit_log_tells_a_new_factor_from_new_recovery_codes_and_from_none(market: Market) -> None:
    factor = SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"codes", (), None)
    market.do(factor)
    market.do(msgspec.structs.replace(factor, recovery=b"others", instead_of=b"seed"))
    market.do(msgspec.structs.replace(factor, totp_sealed=None, recovery=b"", instead_of=b"seed"))
    assert [entry.action for entry in market.audit[-3:]] == [
        "second_factor.on",
        "recovery_codes.renewed",
        "second_factor.off",
    ]


def test_a_recovery_code_is_used_up(market: Market) -> None:
    one, two = b"1" * 36, b"2" * 36
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, one + two, ()))
    first, again = market.together(opening(market, 1, recovery_hash=one), opening(market, 2, recovery_hash=one))
    assert type(first) is not Refused
    assert again == Refused(Refusal.CODE_NOT_VALID)
    assert market.logins[EMAIL].recovery == two
    # Half of one and half of the other is none.
    assert market.refuse(opening(market, 3, recovery_hash=b"1" * 18 + b"2" * 18)).why is Refusal.CODE_NOT_VALID


def test_signing_out_everywhere_begins_a_new_era(market: Market) -> None:
    market.do(opening(market, 1))
    person = market.do(CloseSessions(market.customer.id, "test"))
    assert person.session_generation == 1
    assert market.do(opening(market, 2)).session_generation == 1
    assert market.sessions[b"\x01" * 32].session_generation == 0


def test_a_locked_pin_is_unlocked_with_what_was_mailed(market: Market) -> None:
    market.change("pins", market.customer.id, failures=PIN_ATTEMPTS_MAX)
    challenge(market, "pin", code=CODE)
    unlock = UnlockPin(market.customer.id, EMAIL, b"new", TOKEN, (CODE,), ())
    foreign = msgspec.structs.replace(unlock, person=market.other.id)
    assert market.refuse(foreign).why is Refusal.CODE_NOT_VALID
    market.do(unlock)
    assert market.pins[market.customer.id] == Pin(market.customer.id, b"new", 0)


def paying(market: Market, key: bytes, count: int) -> Pay:
    payment: Payment = market.create()
    return Pay(payment.number, market.customer.id, market.customer.account, (), key, count)


def test_a_passkey_pays_without_a_pin_even_a_locked_one(market: Market) -> None:
    market.change("pins", market.customer.id, failures=PIN_ATTEMPTS_MAX)
    assert market.do(paying(market, passkey(market), 0)).status == "paid"
    assert complaints(market) == []


def test_a_passkey_of_another_pays_nothing_and_costs_no_try(market: Market) -> None:
    key = market.do(AddPasskey(b"theirs", market.other.id, b"public", 0, "phone", ())).id
    assert market.refuse(paying(market, key, 0)) == Refused(Refusal.PASSKEY_NOT_VALID)
    assert market.pins[market.customer.id].failures == 0


def test_a_count_that_does_not_grow_is_a_copy(market: Market) -> None:
    key = passkey(market)
    market.do(paying(market, key, 7))
    for count in (7, 6, 0):
        assert market.refuse(paying(market, key, count)).why is Refusal.PASSKEY_NOT_VALID
    market.do(paying(market, key, 8))
    assert market.passkeys[key].sign_count == 8


def test_a_removed_passkey_opens_nothing(market: Market) -> None:
    key = passkey(market)
    market.do(RemovePasskey(key, market.customer.id, ()))
    assert market.refuse(opening(market, 1, passkey=key)).why is Refusal.PASSKEY_NOT_VALID
    assert market.passkeys == {}


def test_letters_are_written_only_with_what_they_tell(market: Market) -> None:
    market.refuse(ChangePassword(EMAIL, market.other.id, "new", LETTERS))
    assert market.mails == {}
    market.do(ChangePassword(EMAIL, market.customer.id, "new", LETTERS))
    market.do(MailFailed("letter", market.now + 10))
    assert market.mails["letter"] == Mail("letter", b"sealed", market.now, market.now + 10, 1)
    market.do(MailSent("letter"))
    market.do(MailSent("letter"))
    market.do(MailFailed("letter", 1))
    assert market.mails == {}


def test_people_are_told_once_of_what_a_seal_covers(market: Market) -> None:
    told, again = market.together(Notify(0, 3, LETTERS), Notify(0, 3, LETTERS))
    assert (told, again) == (True, False)
    assert list(market.mails) == ["letter"]
    assert market.do(Notify(3, 4, ())) is True


def test_a_second_factor_takes_the_code_that_was_mailed_for_it(market: Market) -> None:
    on = SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"", (), None, TOKEN, (CODE,))
    assert market.refuse(on).why is Refusal.CODE_NOT_VALID
    challenge(market, "factor", code=CODE)
    wrong = msgspec.structs.replace(on, code_macs=(b"wrong",))
    assert market.refuse(wrong) == Refused(Refusal.CODE_NOT_VALID, attempts_left=CODE_ATTEMPTS_MAX - 1)
    first, again = market.together(on, msgspec.structs.replace(on, totp_sealed=None, instead_of=b"seed"))
    assert (first, again.why) == (market.customer.id, Refusal.CODE_NOT_VALID)
    assert market.challenges == {}
    market.do(StartChallenge("factor", EMAIL, market.other.id, TOKEN, CODE, ()))
    off = msgspec.structs.replace(on, totp_sealed=None, instead_of=b"seed")
    assert market.refuse(off).why is Refusal.CODE_NOT_VALID


def test_a_reset_removes_all_passkeys_or_says_that_there_is_one_more(market: Market) -> None:
    first = passkey(market)
    market.do(AddPasskey(b"of another", market.other.id, b"public", 0, "phone", ()))
    challenge(market, "reset")
    reset = ResetPassword(EMAIL, TOKEN, "new", (), ())
    assert market.refuse(reset).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(reset, passkeys=(first, b"of another", b"of nobody")))
    assert set(market.passkeys) == {b"of another"}
    assert complaints(market) == []
    challenge(market, "reset")
    market.do(ResetPassword(EMAIL, TOKEN, "newer", ()))


def test_what_a_passkey_has_answered_opens_one_session_and_is_forgotten_when_it_is_too_late(market: Market) -> None:
    key = passkey(market)
    asked = {"passkey": key, "challenge": b"c" * 32}
    first, again = market.together(opening(market, 1, **asked), opening(market, 2, **asked))
    assert type(first) is not Refused
    assert again.why is Refusal.PASSKEY_NOT_VALID
    assert market.refuse(opening(market, 3, **asked)).why is Refusal.PASSKEY_NOT_VALID
    market.do(opening(market, 4, passkey=key, challenge=b"d" * 32))
    name = (b"c" * 32).hex()
    assert market.refuse(ForgetChallenge("passkey", name)).why is Refusal.NOT_EXPIRED
    market.now += LASTS_MS["passkey"]
    market.do(ForgetChallenge("passkey", name))
    assert ("passkey", name) not in market.challenges


def test_one_proof_is_good_for_one_passkey(market: Market) -> None:
    add = AddPasskey(b"one", market.customer.id, b"public", 0, "phone", (), b"p" * 32)
    first, second = market.together(add, msgspec.structs.replace(add, id=b"two"))
    assert (first.id, second.why) == (b"one", Refusal.CODE_NOT_VALID)
    assert set(market.passkeys) == {b"one"}
