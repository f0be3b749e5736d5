"""Guessing codes of the second factor after a right password: counted at the login, told by mail, and ended."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.limits import WRONG_CODES_MAX, WRONG_CODES_TOLD
from tests.guest import Guest
from tests.live import PASSWORD, Customer, InProcess, in_process, refused, sign_in
from tests.mailbox import link_of
from tests.postgres import PostgresServer
from tests.visitor import Visitor
from tests.web.tenant import SECURITY, code_of, fill, last_letter, letters_to, login_of, tenant, turn_on

NEW: Final = "seven green lamps at noon"


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=16) as world:
        world.change(has_mail=True)
        yield world


def guarded(house: InProcess) -> tuple[Customer, Guest, str]:
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    return customer, guest, seed


def kinds(house: InProcess, customer: Customer) -> list[str]:
    return [mail.kind for mail in letters_to(house, customer.email)]


def wrong(house: InProcess, seed: str) -> str:
    return f"{(int(code_of(house, seed, 9)) + 1) % 1_000_000:06d}"


def spend(house: InProcess, customer: Customer, seed: str) -> None:
    for _ in range(WRONG_CODES_MAX):
        assert house.send(sign_in(customer.email, totp=wrong(house, seed))).status_code == 401


def test_each_way_in_counts_and_the_owner_is_told(house: InProcess) -> None:
    customer, guest, seed = guarded(house)
    thief = Guest(house)
    thief.follow(thief.sign_in(customer.email))
    assert thief.post("/sign-in/code", code=wrong(house, seed)).status_code == 422
    assert Guest(house).sign_in(customer.email, code=wrong(house, seed)).status_code == 422
    assert "wrong_codes" not in kinds(house, customer)
    assert house.send(sign_in(customer.email, totp=wrong(house, seed))).status_code == 401
    assert login_of(house, customer.email).wrong_codes == WRONG_CODES_TOLD
    assert "wrong_codes" in kinds(house, customer)
    # Also from within.
    fill(guest, f"{SECURITY}/recovery", password=PASSWORD, code=wrong(house, seed))
    assert login_of(house, customer.email).wrong_codes == WRONG_CODES_TOLD + 1


def test_neither_a_wrong_password_nor_no_code_counts(house: InProcess) -> None:
    customer, _, seed = guarded(house)
    assert house.send(sign_in(customer.email, "wrong", totp=wrong(house, seed))).status_code == 401
    assert house.send(sign_in(customer.email)).status_code == 401
    assert login_of(house, customer.email).wrong_codes == 0


def test_ten_wrong_codes_end_the_password_until_it_is_set_anew(house: InProcess) -> None:
    customer, guest, seed = guarded(house)
    half = Guest(house)
    half.follow(half.sign_in(customer.email))
    spend(house, customer, seed)
    house.clock.advance(30_000)
    assert {"wrong_codes", "password_spent"} <= set(kinds(house, customer))
    refused(house.send(sign_in(customer.email, totp=code_of(house, seed))), 403, "password_spent")
    # The person is told, and a stranger without the password is not.
    for one in (Guest(house), half):
        answer = (
            one.sign_in(customer.email) if one is not half else half.post("/sign-in/code", code=code_of(house, seed))
        )
        one.follow(answer)
        assert "Too many incorrect verification codes." in one.text
        assert 'href="/forgot"' in one.page
        assert not one.is_signed_in()
    assert "Incorrect e-mail address or password." in told(house, customer.email, "wrong")
    visitor = Visitor(house, house.payment(house.merchants[0]))
    visitor.open()
    assert visitor.post("sign-in", email=customer.email, password=PASSWORD).status_code == 403
    assert "Too many incorrect verification codes." in visitor.text
    # Who was signed in stays so, and changes nothing.
    assert guest.is_signed_in()
    answer = fill(guest, f"{SECURITY}/recovery", password=PASSWORD, code=code_of(house, seed))
    assert answer.status_code == 403
    other = Guest(house)
    other.open("/forgot")
    assert other.post("/forgot", email=customer.email).status_code == 303
    link = link_of(house, last_letter(house, customer.email))
    other.open(link)
    assert other.post(link, password=NEW).status_code == 303
    assert house.send(sign_in(customer.email, NEW, totp=code_of(house, seed))).status_code == 201


def told(house: InProcess, email: str, password: str) -> str:
    guest = Guest(house)
    assert guest.sign_in(email, password).status_code == 422
    return guest.text


@pytest.mark.both_engines
def test_many_guesses_at_once_all_count(house: InProcess) -> None:
    customer, _, seed = guarded(house)
    answers = house.together([sign_in(customer.email, totp=wrong(house, seed)) for _ in range(20)])
    assert {answer.status_code for answer in answers} <= {401, 403}
    assert login_of(house, customer.email).wrong_codes == WRONG_CODES_MAX
    assert kinds(house, customer).count("password_spent") == 1
