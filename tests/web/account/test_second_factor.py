"""The second factor on a person's own pages: begun by a code, ended by one, and no code good for two things."""

from collections.abc import Iterator
from typing import Final

import pyotp
import pytest

from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.limits import RECOVERY_CODES
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, PIN, InProcess, in_process, sign_in
from tests.mailbox import link_of
from tests.postgres import PostgresServer
from tests.web.tenant import (
    SECURITY,
    WRONG,
    WRONG_CODE,
    code_of,
    fill,
    last_letter,
    letters_to,
    login_of,
    mailed_code,
    session_of,
    shown_codes,
    shown_seed,
    tenant,
    turn_on,
)

TOTP: Final = f"{SECURITY}/totp"
CODE: Final = f"{SECURITY}/totp/code"
OFF: Final = f"{SECURITY}/totp/off"
RENEW: Final = f"{SECURITY}/recovery"
NEW: Final = "seven green lamps at noon"


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=24) as world:
        world.change(has_mail=True)
        yield world


def enters(house: InProcess, email: str, code: str, password: str = PASSWORD) -> bool:
    return house.send(sign_in(email, password, totp=code)).status_code == 201


@pytest.mark.both_engines
def test_it_is_on_after_the_first_code_and_asked_for_on_every_way_in(house: InProcess) -> None:
    """Case 42."""
    customer, guest = tenant(house)
    seed, codes = turn_on(house, guest)
    assert len(seed) * 5 == 160
    assert len(set(codes)) == RECOVERY_CODES
    assert last_letter(house, customer.email).kind == "second_factor_on"
    assert house.send(sign_in(customer.email)).status_code == 401
    browser = Guest(house)
    assert browser.sign_in(customer.email).headers["location"] == "/sign-in/code"
    assert not browser.is_signed_in()
    assert enters(house, customer.email, code_of(house, seed))
    assert enters(house, customer.email, codes[0].lower())
    guest.open(SECURITY)
    assert f"Recovery codes left {RECOVERY_CODES - 1}" in guest.text


def test_the_seed_is_shown_as_a_picture_and_as_text_and_kept_by_nobody(house: InProcess) -> None:
    customer, guest = tenant(house)
    mailed_code(house, guest)
    answer = guest.open(TOTP)
    assert answer.headers["cache-control"] == "no-store"
    seed = shown_seed(guest)
    assert '<svg class="qr"' in guest.page
    assert "style=" not in guest.page
    assert f"otpauth://totp/Qirsh:{customer.email.replace('@', '%40')}?secret={seed}&amp;issuer=Qirsh" in guest.page
    sealed = guest.form(TOTP)["seed"]
    assert seed not in sealed
    assert login_of(house, customer.email).totp_sealed is None
    guest.open(TOTP)
    assert shown_seed(guest) != seed


def test_the_password_has_a_code_mailed_and_begins_nothing_alone(house: InProcess) -> None:
    customer, guest = tenant(house)
    for password in ("", "wrong horse battery"):
        guest.open(TOTP)
        assert guest.post(CODE, password=password).status_code == 422
        assert WRONG in guest.text
    mailed_code(house, guest)
    seed = shown_seed(guest)
    assert guest.post(TOTP, mail_code="", code=code_of(house, seed)).status_code == 422
    # A code that was mailed for another session is as good as none, and so is what another page would send.
    _, other = tenant(house, customer)
    mail_code = mailed_code(house, other)
    assert guest.post(TOTP, mail_code=mail_code, code=code_of(house, seed)).status_code == 422
    assert login_of(house, customer.email).totp_sealed is None
    assert "Send code" in guest.open(TOTP).text


def test_a_wrong_code_begins_nothing_and_keeps_the_seed(house: InProcess) -> None:
    customer, guest = tenant(house)
    mail_code = mailed_code(house, guest)
    wrong = f"{(int(mail_code) + 1) % 1_000_000:06d}"
    seed = shown_seed(guest)
    for mailed, code, field in (
        (mail_code, "000000", "code"),
        (mail_code, code_of(house, seed, 2), "code"),
        (mail_code, code_of(house, seed, -2), "code"),
        (mail_code, "", "code"),
        (wrong, code_of(house, seed), "mail_code"),
    ):
        assert guest.post(TOTP, mail_code=mailed, code=code).status_code == 422
        assert list(guest.wrong) == [field]
        assert shown_seed(guest) == seed
    assert "You can try 4 more times." in guest.wrong["mail_code"]
    assert login_of(house, customer.email).totp_sealed is None
    assert letters_to(house, customer.email) == []
    assert guest.post(TOTP, mail_code=mail_code, code=code_of(house, seed, 1)).status_code == 200


def test_where_no_mail_is_sent_the_password_has_to_do(house: InProcess) -> None:
    customer, guest = tenant(house)
    house.change(has_mail=False)
    try:
        guest.open(TOTP)
        seed = shown_seed(guest)
        assert guest.post(TOTP, password="wrong horse battery", code=code_of(house, seed)).status_code == 422
        assert list(guest.wrong) == ["password"]
        assert guest.post(TOTP, password=PASSWORD, code=code_of(house, seed)).status_code == 200
        house.clock.advance(30_000)
        assert fill(guest, OFF, password=PASSWORD, code="000000").status_code == 422
        assert fill(guest, OFF, password=PASSWORD, code=code_of(house, seed)).status_code == 303
    finally:
        house.change(has_mail=True)
    assert login_of(house, customer.email).totp_sealed is None


def test_a_seed_is_good_in_the_session_that_got_it_only(house: InProcess) -> None:
    customer, guest = tenant(house)
    _, other = tenant(house)
    mailed_code(house, other)
    foreign, seed = other.form(TOTP)["seed"], shown_seed(other)
    mail_code = mailed_code(house, guest)
    for given in (foreign, "", "x", foreign[:-4], "é"):
        answer = fill(guest, TOTP, mail_code=mail_code, code=code_of(house, seed), seed=given)
        assert "Please start again" in guest.follow(answer).text
    assert login_of(house, customer.email).totp_sealed is None


def test_the_code_that_began_it_opens_nothing(house: InProcess) -> None:
    customer, guest = tenant(house)
    mail_code = mailed_code(house, guest)
    seed = shown_seed(guest)
    code = code_of(house, seed)
    assert guest.post(TOTP, mail_code=mail_code, code=code).status_code == 200
    assert not enters(house, customer.email, code)
    guest.open(OFF)
    assert guest.post(CODE, password=PASSWORD, code=code).status_code == 422
    assert WRONG_CODE in guest.text


def test_of_two_tabs_that_turn_it_on_one_does(house: InProcess) -> None:
    customer, guest = tenant(house)
    calls, seeds = [], []
    mail_code = mailed_code(house, guest)
    for _ in range(2):
        guest.open(TOTP)
        seeds.append(shown_seed(guest))
        calls.append(guest.posting(TOTP, mail_code=mail_code, code=code_of(house, seeds[-1])))
    answers = house.together(calls)
    assert sorted(answer.status_code for answer in answers) == [200, 303]
    [first] = [number for number, answer in enumerate(answers) if answer.status_code == 200]
    tab = Guest(house)
    codes = shown_codes(_at(tab, answers[first].text))
    assert "is already on" in guest.follow(guest.seen(answers[1 - first])).text
    house.clock.advance(30_000)
    assert enters(house, customer.email, codes[0])
    assert not enters(house, customer.email, code_of(house, seeds[1 - first]))
    assert enters(house, customer.email, code_of(house, seeds[first]))
    assert guest.open(TOTP).headers["location"] == SECURITY
    assert [mail.kind for mail in letters_to(house, customer.email)] == ["second_factor_on"]


def test_it_is_turned_off_by_password_and_code_and_a_mailed_code(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, codes = turn_on(house, guest)
    for password, code in ((PASSWORD, ""), (PASSWORD, "000000"), ("wrong horse battery", code_of(house, seed))):
        guest.open(OFF)
        assert guest.post(CODE, password=password, code=code).status_code == 422
        assert WRONG_CODE in guest.text
    mail_code = mailed_code(house, guest, OFF, code=code_of(house, seed))
    assert guest.post(OFF, mail_code=f"{(int(mail_code) + 1) % 1_000_000:06d}").status_code == 422
    assert list(guest.wrong) == ["mail_code"]
    assert login_of(house, customer.email).totp_sealed is not None
    answer = guest.post(OFF, mail_code=f"{mail_code[:3]} {mail_code[3:]}")
    assert "Two-step verification is off." in guest.follow(answer).text
    assert last_letter(house, customer.email).kind == "second_factor_off"
    login = login_of(house, customer.email)
    assert (login.totp_sealed, login.recovery) == (None, b"")
    assert house.send(sign_in(customer.email)).status_code == 201
    # A new one begins with a new seed, and what is left of the old one opens nothing.
    house.clock.advance(60_000)
    turn_on(house, guest)
    assert not enters(house, customer.email, code_of(house, seed))
    assert not enters(house, customer.email, codes[1])


def test_whoever_runs_the_service_keeps_it_on(house: InProcess) -> None:
    operator = house.operators[0]
    house.clock.advance(30_000)
    guest = Guest(house)
    assert guest.sign_in(operator.email, code=house.code_of(operator.email)).status_code == 303
    guest.open(OFF)
    assert "Operators must use two-step verification" in guest.text
    house.clock.advance(30_000)
    # Nor without the page that says so.
    token = house.context.keyring.form_token("totp-off", session_of(guest))
    body = f"token={token}&password={PASSWORD.replace(' ', '+')}&code={house.code_of(operator.email)}"
    call = guest.call("POST", OFF, body.encode(), content_type="application/x-www-form-urlencoded")
    assert house.send(call).status_code == 422
    assert login_of(house, operator.email).totp_sealed is not None


def test_new_recovery_codes_take_the_place_of_the_old(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, old = turn_on(house, guest)
    assert fill(guest, RENEW, password=PASSWORD, code="000000").status_code == 422
    answer = fill(guest, RENEW, password=PASSWORD, code=code_of(house, seed))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    new = shown_codes(guest)
    assert len(set(new)) == RECOVERY_CODES
    assert not set(new) & set(old)
    assert last_letter(house, customer.email).kind == "recovery_renewed"
    assert not enters(house, customer.email, old[0])
    assert enters(house, customer.email, new[0])
    house.clock.advance(30_000)
    assert enters(house, customer.email, code_of(house, seed))


def test_a_code_is_good_for_one_change(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, codes = turn_on(house, guest)
    code = code_of(house, seed)
    pin = {"old_pin": PIN, "pin": "739214", "pin_again": "739214"}
    assert fill(guest, "/wallet/pin", password=PASSWORD, code=code, **pin).status_code == 303
    before = login_of(house, customer.email)
    for path, typed in (
        ("/wallet/pin", pin),
        (RENEW, {}),
        (f"{SECURITY}/password", {"new_password": NEW}),
        (f"{SECURITY}/email", {"email": f"new.{customer.email}"}),
    ):
        assert fill(guest, path, password=PASSWORD, code=code, **typed).status_code == 422, path
        assert WRONG_CODE in guest.text
    assert not enters(house, customer.email, code)
    assert login_of(house, customer.email) == before
    # The same holds for a recovery code.
    pin["old_pin"] = "739214"
    assert fill(guest, "/wallet/pin", password=PASSWORD, code=codes[0], **pin).status_code == 303
    assert fill(guest, "/wallet/pin", password=PASSWORD, code=codes[0], **pin).status_code == 422


@pytest.mark.both_engines
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_one_code_sent_many_times_at_once_changes_one_thing(house: InProcess, kind: str) -> None:
    customer, guest = tenant(house)
    seed, codes = turn_on(house, guest)
    code = code_of(house, seed) if kind == "app" else codes[3]
    guest.open("/wallet/pin")
    calls = [
        guest.posting("/wallet/pin", password=PASSWORD, code=code, old_pin=PIN, pin=pin, pin_again=pin)
        for pin in ("739214", "739215", "739216", "739218")
    ]
    answers = [answer.status_code for answer in house.together([*calls, sign_in(customer.email, totp=code)])]
    assert sorted(answers).count(303) + answers.count(201) == 1
    # Those who came too late count as wrong codes, of which a mail may tell too.
    told = [letter for letter in letters_to(house, customer.email) if letter.kind != "wrong_codes"]
    assert len(told) == 1 + answers.count(303)
    left = len(login_of(house, customer.email).recovery) // 36
    assert left == RECOVERY_CODES - (kind == "recovery")


def test_a_password_is_changed_with_a_code_and_keeps_the_factor(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    path = f"{SECURITY}/password"
    assert fill(guest, path, password=PASSWORD, new_password=NEW).status_code == 422
    answer = fill(guest, path, password=PASSWORD, code=code_of(house, seed), new_password=NEW)
    assert "Your password was changed" in guest.follow(answer).text
    assert guest.is_signed_in()
    house.clock.advance(30_000)
    assert house.send(sign_in(customer.email, NEW)).status_code == 401
    assert enters(house, customer.email, code_of(house, seed), NEW)


def test_guessing_codes_is_stopped(house: InProcess) -> None:
    """Case 40."""
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    house.limit(RateLimits(clock=lambda: 0))
    try:
        guest.open(RENEW)
        wrong = [code for code in (f"{n:06d}" for n in range(60)) if code != code_of(house, seed)]
        calls = [guest.posting(RENEW, password=PASSWORD, code=code) for code in wrong[:28]]
        answers = [answer.status_code for answer in house.together(calls)]
        assert (answers.count(422), answers.count(429)) == (10, 18)
        assert guest.post(RENEW, password=PASSWORD, code=code_of(house, seed)).status_code == 429
    finally:
        house.change(limits=None)
    assert login_of(house, customer.email).totp_sealed is not None


def test_codes_of_one_step_before_and_after_are_taken_and_none_beyond(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    house.clock.advance(120_000)
    for steps in (-2, 2):
        assert not enters(house, customer.email, code_of(house, seed, steps))
    for steps in (-1, 0, 1):
        assert enters(house, customer.email, code_of(house, seed, steps))
    assert not enters(house, customer.email, pyotp.TOTP(seed).at(house.now_ms() // 1000))


def _at(guest: Guest, page: str) -> Guest:
    guest.page = page
    return guest


def test_it_goes_along_to_a_new_address(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    new = f"new.{customer.email}"
    house.clock.advance(60_000)
    fill(guest, f"{SECURITY}/email", password=PASSWORD, code=code_of(house, seed), email=new)
    link = link_of(house, last_letter(house, new))
    guest.open(link)
    assert guest.post(link).status_code == 303
    house.clock.advance(60_000)
    assert enters(house, new, code_of(house, seed))


def test_one_that_was_copied_from_another_s_login_opens_nothing(house: InProcess) -> None:
    customer, guest = tenant(house)
    thief, other = tenant(house)
    turn_on(house, guest)
    seed, _ = turn_on(house, other)
    login, own = login_of(house, customer.email), login_of(house, thief.email)
    put = SetSecondFactor(login.email, login.person, own.totp_sealed, 0, b"", (), instead_of=login.totp_sealed)
    house.run(house.context.engine.submit(put))
    house.clock.advance(60_000)
    assert enters(house, thief.email, code_of(house, seed))
    house.clock.advance(60_000)
    assert not enters(house, customer.email, code_of(house, seed))
