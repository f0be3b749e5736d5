"""Paying with a passkey: a device made of software confirms exactly what was shown, and nothing else."""

import html
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.domain.limits import PASSKEY_CHALLENGE_MS, PIN_ATTEMPTS_MAX
from qirsh.domain.refusal import Refused
from qirsh.web.auth import passkeys
from tests.altered import alter
from tests.authenticator import Authenticator
from tests.live import FUNDS, WRONG_PIN, Customer, InProcess, in_process, pay, retrieve
from tests.postgres import PostgresServer
from tests.visitor import Visitor

PLACE = "http://localhost:8420"


@pytest.fixture(scope="module")
def named(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world at a name: browsers know no passkeys for a number."""
    with in_process(engine, shops=3, people=20) as held:
        held.change(base_url=PLACE)
        yield held


def person_of(world: InProcess, email: str) -> int:
    with world.books() as books:
        [(person,)] = books.select("SELECT person FROM login WHERE email = ?", email)
    return int(person)


def equipped(world: InProcess, customer: Customer) -> Authenticator:
    """The customer's device, which the service knows."""
    place, person = world.context.base_url, person_of(world, customer.email)
    device = Authenticator(place, urlsplit(place).hostname or "")
    purpose = passkeys.adding("session", person, "proof")
    options = passkeys.creation_options(world.context, purpose, person=person, email="a@b.example", name="a", known=[])
    made = passkeys.new_passkey(world.context, purpose, device.create(options))
    assert made is not None
    command = AddPasskey(made.id, person, made.public_key, made.sign_count, "phone", ())
    assert type(world.run(world.context.engine.submit(command))) is not Refused
    return device


def options_of(visitor: Visitor) -> str:
    """What the page asks the browser for."""
    [options] = re.findall(r'data-passkey="([^"]*)"', visitor.page)
    return html.unescape(options)


def confirmed(visitor: Visitor, answer: str, **changes: str) -> httpx2.Response:
    return visitor.post("passkey", {**visitor.form("passkey"), "passkey": answer, **changes})


def refused(world: InProcess, visitor: Visitor, answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    visitor.open()
    assert "Your passkey could not be checked" in visitor.text
    assert world.data(retrieve(world.merchants[0].key, visitor.payment_id))["status"] == "pending"


def at(world: InProcess, customer: Customer, **fields: object) -> Visitor:
    return Visitor(world, world.payment(world.merchants[0], **fields)).signed_in(customer)


def test_a_passkey_pays_once_and_without_a_pin(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = at(named, customer, amount=700, returnUrl="https://shop.example/thanks")
    assert re.search(r"Pay 7.00 SYP with a passkey|Pay 7.00 .* with a passkey", visitor.text)
    form, answer = visitor.form("passkey"), device.get(options_of(visitor))
    for _ in range(2):
        sent = visitor.post("passkey", {**form, "passkey": answer})
        assert sent.headers["location"].startswith("https://shop.example/thanks?paymentId=")
    assert named.balance(customer) == FUNDS - 700
    assert named.violations() == []


def test_who_has_none_is_offered_none(named: InProcess) -> None:
    visitor = at(named, named.customer())
    assert "passkey" not in visitor.page


def test_where_browsers_know_none_none_is_offered(still: InProcess) -> None:
    customer = still.customer()
    equipped(still, customer)
    assert "passkey" not in at(still, customer).page


def test_an_answer_for_one_payment_is_none_for_another(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    first, second = at(named, customer, amount=1), at(named, customer, amount=999)
    refused(named, second, confirmed(second, device.get(options_of(first))))
    # Nor for another session at the same payment.
    again = Visitor(named, first.payment_id).signed_in(customer)
    refused(named, again, confirmed(again, device.get(options_of(first))))


def test_another_persons_passkey_is_none(named: InProcess) -> None:
    customer, thief = named.customer(), named.customer()
    equipped(named, customer)
    device = equipped(named, thief)
    visitor = at(named, customer)
    options = options_of(visitor)
    asked = re.sub(r'"allowCredentials": \[.*?\]', '"allowCredentials": []', options)
    refused(named, visitor, confirmed(visitor, device.get(asked)))


def test_nonsense_pays_nothing(named: InProcess, subtests: pytest.Subtests) -> None:
    for answer in ("", "{}", "null", '{"id": "AAAA"}', "[" * 4000):
        with subtests.test(answer):
            customer = named.customers[0]
            if not re.search("data-passkey", at(named, customer).page):
                equipped(named, customer)
            visitor = at(named, customer)
            refused(named, visitor, confirmed(visitor, answer))


def test_a_device_that_did_not_know_its_person_pays_nothing(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = at(named, customer)
    device.is_verified = False
    refused(named, visitor, confirmed(visitor, device.get(options_of(visitor))))


def test_a_page_that_was_open_for_too_long_asks_once_more(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = at(named, customer)
    answer = device.get(options_of(visitor))
    named.clock.now += PASSKEY_CHALLENGE_MS
    refused(named, visitor, confirmed(visitor, answer))
    confirmed(visitor, device.get(options_of(visitor)))
    assert visitor.has_paid()


def test_a_shop_that_is_renamed_meanwhile_is_shown_anew(named: InProcess) -> None:
    customer, merchant = named.customer(), named.merchant()
    device = equipped(named, customer)
    visitor = Visitor(named, named.payment(merchant)).signed_in(customer)
    answer, form = device.get(options_of(visitor)), visitor.form("passkey")
    alter(named, merchant.account, name="Another shop")
    visitor.post("passkey", {**form, "passkey": answer})
    visitor.open()
    assert "has changed since you opened it" in visitor.text
    # Also with the new page's token, what was signed was the old name.
    confirmed(visitor, answer)
    visitor.open()
    assert "Your passkey could not be checked" in visitor.text
    assert named.data(retrieve(merchant.key, visitor.payment_id))["status"] == "pending"


def test_a_form_without_its_token_does_nothing(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = at(named, customer)
    answer, form = device.get(options_of(visitor)), visitor.form("passkey")
    before = named.counts()
    for token in ("", "0" * 64, visitor.form("confirm")["token"], visitor.form("sign-out")["token"]):
        late = visitor.elsewhere(visitor.payment_id)
        assert late.post("passkey", {**form, "token": token, "passkey": answer}).status_code == 403
    stranger = Visitor(named, visitor.payment_id)
    assert stranger.post("passkey", {**form, "passkey": answer}).status_code == 403
    assert named.counts() == before


def test_who_has_locked_the_pin_can_still_use_the_passkey(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = at(named, customer)
    for _ in range(PIN_ATTEMPTS_MAX):
        named.send(pay(customer, visitor.payment_id, WRONG_PIN))
    visitor.open()
    assert "Your PIN is locked" in visitor.text
    assert f'href="/wallet/pin?pay={visitor.payment_id}"' in visitor.page
    confirmed(visitor, device.get(options_of(visitor)))
    assert visitor.has_paid()


def cold(world: InProcess, **fields: object) -> Visitor:
    """Somebody at a payment who is not signed in."""
    visitor = Visitor(world, world.payment(world.merchants[0], **fields))
    visitor.open()
    return visitor


def touched(visitor: Visitor, answer: str, **changes: str) -> httpx2.Response:
    return visitor.post("sign-in/passkey", passkey=answer, **changes)


def test_one_touch_signs_in_and_pays_what_was_shown(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = cold(named, amount=700, returnUrl="https://shop.example/thanks")
    assert "form-action 'self' https://shop.example" in visitor.open().headers["content-security-policy"]
    sent = touched(visitor, device.get(options_of(visitor)))
    assert sent.headers["location"].startswith("https://shop.example/thanks?paymentId=")
    assert named.balance(customer) == FUNDS - 700
    assert visitor.has_paid()
    assert named.violations() == []


def test_a_second_touch_pays_nothing_more(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = cold(named, amount=700)
    before = dict(visitor.cookies)
    call = visitor.posting("sign-in/passkey", passkey=device.get(options_of(visitor)))
    answers = named.together([call] * 5)
    assert {answer.status_code for answer in answers} == {303}
    visitor.cookies = before
    visitor.seen(named.send(call))
    assert named.balance(customer) == FUNDS - 700
    assert named.violations() == []


def test_a_touch_is_good_for_this_payment_in_this_browser_alone(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    first, second = cold(named, amount=1), cold(named, amount=999)
    answer = device.get(options_of(first))
    refused(named, second, touched(second, answer))
    assert not second.is_signed_in()
    elsewhere = Visitor(named, first.payment_id)
    elsewhere.open()
    refused(named, elsewhere, touched(elsewhere, answer))
    assert not elsewhere.is_signed_in()
    # Nor does what signs in at the door pay anything.
    elsewhere.open("/sign-in")
    other = device.get(options_of(elsewhere))
    elsewhere.open()
    refused(named, elsewhere, touched(elsewhere, other))


def test_a_touch_on_what_was_not_shown_pays_nothing(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = cold(named, amount=5)
    answer = touched(
        visitor, device.get(options_of(visitor)), shown=cold(named, amount=6).form("sign-in/passkey")["shown"]
    )
    assert answer.headers["location"] == f"/pay/{visitor.payment_id}"
    visitor.open()
    assert "This payment has changed" in visitor.text
    assert not visitor.is_signed_in()
    assert named.balance(customer) == FUNDS


def test_who_cannot_pay_is_signed_in_and_told_why(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    visitor = cold(named, amount=FUNDS + 1)
    visitor.follow(touched(visitor, device.get(options_of(visitor))))
    assert "Not enough money in your account" in visitor.text
    assert visitor.is_signed_in()
    assert named.balance(customer) == FUNDS


def test_a_device_that_did_not_know_its_owner_pays_nothing(named: InProcess) -> None:
    customer = named.customer()
    device = equipped(named, customer)
    device.is_verified = False
    visitor = cold(named, amount=5)
    refused(named, visitor, touched(visitor, device.get(options_of(visitor))))
    assert not visitor.is_signed_in()
