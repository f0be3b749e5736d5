"""The pay page: the road of a customer, each place where it must stop, and what the page shows to whom."""

import re
from typing import Final

import httpx2
import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX, PIN_ATTEMPTS_MAX
from qirsh.domain.stop import Stop
from qirsh.engine import batcher
from tests.altered import alter
from tests.live import (
    BALANCES,
    FUNDS,
    ORIGIN,
    PASSWORD,
    PIN,
    WRONG_PIN,
    Call,
    InProcess,
    Live,
    Merchant,
    World,
    create,
    pay,
    refund,
    retrieve,
)
from tests.visitor import Visitor

BACK: Final = f"{ORIGIN}/thanks"
GONE: Final = f"{ORIGIN}/basket"
ODD_TEXTS: Final = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" autofocus onfocus='alert(1)' x=\"",
    "end of element": "</p></div></main><form action=https://evil.example>",
    "jinja": "{{7*7}}{% raw %}{{config}}",
    "dollar": "${7*7}#{7*7}<%= 7*7 %>",
    "format": "{0.__class__} %s %(x)s %d",
    "entity": "&lt;b&gt; &amp;amp;",
    "marks": "\u200fDSU 00.1\u200e x",
    "comment": "<!-- --><![CDATA[",
}


def status_of(world: World, merchant: Merchant, payment_id: str) -> str:
    status: str = world.data(retrieve(merchant.key, payment_id))["status"]
    return status


def at(world: World, **fields: object) -> Visitor:
    """Somebody at a new payment of the first shop."""
    return Visitor(world, world.payment(world.merchants[0], **fields))


def page_of(answer: httpx2.Response, status: int) -> str:
    """The HTML of an answer, after a look at its kind."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")
    return answer.text


def shown_again(visitor: Visitor, answer: httpx2.Response) -> None:
    """A confirm that paid nothing leads to the page anew, which says why."""
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    page_of(visitor.open(), 200)


# The road.


def test_a_customer_signs_in_pays_and_comes_back_to_the_shop(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    visitor = at(world, amount=10098, note="Order 1029", returnUrl=BACK, reference="a&b=c")
    assert "100.98 USD" in visitor.open().text
    assert "Time left 59 min" in visitor.text
    visitor.signed_in(customer)
    number = customer.account
    assert f"Your account {number[:4]} {number[4:8]} {number[8:]}" in visitor.text
    assert "Balance after 999,899.02 USD" in visitor.text
    assert "Pay 100.98 USD" in visitor.text
    answer = visitor.confirm()
    assert (answer.status_code, answer.content) == (303, b"")
    expected = f"{BACK}?paymentId={visitor.payment_id}&status=paid&reference=a%26b%3Dc"
    assert answer.headers["location"] == expected
    told = world.data(retrieve(merchant.key, visitor.payment_id))
    assert (told["status"], told["from"]) == ("paid", customer.account)
    assert world.balance(customer) == FUNDS - 10098


def slip_of(visitor: Visitor) -> str:
    """The payment itself, without what else can be done below it."""
    return visitor.page.partition("<main>")[2].partition('<div class="below">')[0]


def test_without_a_return_address_the_receipt_is_shown(world: Live) -> None:
    visitor = at(world, amount=7550, note="Order 7").signed_in(world.customer())
    answer = visitor.confirm()
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    visitor.open()
    spoken = " ".join(re.findall("....", visitor.payment_id))
    for words in ("Paid", "75.50 USD", "Shop", "Order 7", spoken, "UTC", "You can close this page"):
        assert words in visitor.text
    assert "<form" not in slip_of(visitor)


def test_the_receipt_tells_what_was_given_back(world: Live) -> None:
    visitor = at(world, amount=7550, note="First line\nsecond line").signed_in(world.customer())
    visitor.confirm()
    visitor.open()
    assert "Refunded" not in visitor.text
    world.data(refund(world.merchants[0].key, visitor.payment_id, amount=2525))
    visitor.open()
    assert "Refunded to you 25.25 USD" in re.sub(r"\s+", " ", visitor.text)


def test_a_customer_is_not_blamed_when_all_money_is_stopped(still: InProcess) -> None:
    visitor = at(still).signed_in(still.customer())
    stop = still.run(still.context.engine.submit(StopMoney(1, "a sum is wrong", "test")))
    assert isinstance(stop, Stop)
    try:
        visitor.confirm()
        visitor.open()
        assert "Payments are paused The problem is not with your account" in visitor.text
    finally:
        still.agree("audit lift", reason="it was mended")


def test_the_receipt_leads_back_to_the_shop(world: Live) -> None:
    visitor = at(world, returnUrl=f"{BACK}?order=7").signed_in(world.customer())
    visitor.confirm()
    visitor.open()
    address = f"{BACK}?order=7&amp;paymentId={visitor.payment_id}&amp;status=paid"
    assert f'href="{address}"' in visitor.page


def test_the_address_in_the_link_header_is_the_pay_page(world: Live) -> None:
    created = world.send(create(world.merchants[0].key))
    [address] = re.findall(r'<(.*)>; rel="payment"', created.headers["link"])
    assert world.send(Call("GET", address)).status_code == 200
    told = world.data(retrieve(world.merchants[0].key, created.json()["data"]["id"]))
    assert told["payUrl"] == address


def test_before_signing_in_only_the_merchants_request_is_shown(world: Live) -> None:
    payment_id = world.payment(world.merchants[0], metadata={"secret": "of the shop"}, reference="ref-1")
    visitor = Visitor(world, payment_id)
    visitor.open()
    assert "Your account" not in visitor.page
    assert "Balance" not in visitor.page
    assert "pin" not in visitor.page.lower()
    assert "of the shop" not in visitor.page
    assert "ref-1" not in visitor.page
    assert world.merchants[0].account not in visitor.page


def test_one_page_for_all_that_is_not_there(world: Live) -> None:
    real = world.payment(world.merchants[0])
    wrong_digit = real[:-1] + str((int(real[-1]) + 1) % 10)
    pages = set()
    for name in (wrong_digit, "1234567890123456", "1", "x", "-1", "%00", "..", real + "0", "٣" * 16, f"0{real}"):
        for step in ("", "/cancel"):
            answer = world.send(Call("GET", f"/pay/{name}{step}"))
            if name == "..":
                continue  # Clients resolve it themselves.
            pages.add(page_of(answer, 404).replace(answer.headers["x-request-id"], ""))
    assert len(pages) == 1


def test_looking_changes_nothing(world: Live) -> None:
    visitor = at(world).signed_in(world.customer())
    before = world.counts()
    for step in ("", "cancel", "sign-in", "confirm", "sign-out"):
        for method in ("GET", "HEAD"):
            world.send(visitor.call(method, step))
    assert world.counts() == before
    assert status_of(world, world.merchants[0], visitor.payment_id) == "pending"


def test_a_head_of_a_page_is_its_get_without_the_body(world: Live) -> None:
    visitor = at(world)
    answer = world.send(visitor.call("HEAD"))
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 1000


def test_an_operator_signs_in_with_the_second_factor_only(world: Live) -> None:
    operator = world.operators[1]  # Others sign in as the first, and each code works once.
    visitor = at(world)
    visitor.open()
    asked = visitor.post("sign-in", email=operator.email, password=PASSWORD)
    assert asked.headers["location"] == f"/sign-in/code?pay={visitor.payment_id}"
    visitor.follow(asked)
    for code in ("", "000000", "x" * 7):
        assert page_of(visitor.post("/sign-in/code", code=code), 422)
        assert "qirsh" not in visitor.cookies
    code = world.one_time_code(operator.email)
    entered = visitor.post("/sign-in/code", code=f"{code[:3]} {code[3:]}")
    assert (entered.status_code, entered.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert "qirsh" in visitor.cookies


def test_a_failed_sign_in_says_no_more_than_that(world: Live, subtests: pytest.Subtests) -> None:
    for who, password in (
        ("", PASSWORD),
        ("known", ""),
        ("known", "wrong"),
        ("known", "x" * 2000),
        ("nobody@x.example", PASSWORD),
    ):
        with subtests.test(f"{who} {password:.60}"):
            email = world.customers[0].email if who == "known" else who
            visitor = at(world)
            visitor.open()
            before = world.counts()
            was_looked_at = bool(email) and 0 < len(password) <= PASSWORD_CHARACTERS_MAX
            answer = visitor.post("sign-in", {**visitor.form("sign-in"), "email": email, "password": password})
            page_of(answer, 422)
            assert "Incorrect e-mail address or password. You are not signed in." in visitor.text
            assert f'value="{email}"' in visitor.page
            assert PASSWORD not in visitor.page
            assert "set-cookie" not in answer.headers
            # The audit log tells of it, unless there is enough of this address already. Nothing else stays.
            after = world.counts()
            assert after["audit"] - before["audit"] in {0, was_looked_at}
            assert after == before | {"audit": after["audit"]}


# What stands in the way.


def test_a_wrong_pin_is_told_beside_its_field_until_it_locks(world: Live) -> None:
    visitor = at(world).signed_in(world.customer())
    for left in range(PIN_ATTEMPTS_MAX - 1, 0, -1):
        shown_again(visitor, visitor.confirm(WRONG_PIN))
        tries = "One attempt is left" if left == 1 else f"{left} attempts are left"
        assert f"Incorrect PIN. {tries} before it locks. Nothing was paid." in visitor.text
        assert 'aria-describedby="pin-wrong"' in visitor.page
        assert WRONG_PIN not in visitor.page
        # Said once: a refresh neither says nor sends it again.
        visitor.open()
        assert "Incorrect" not in visitor.text
    form = visitor.form("confirm")
    shown_again(visitor, visitor.confirm(WRONG_PIN))
    assert "Your PIN is locked" in visitor.text
    shown_again(visitor, visitor.post("confirm", {**form, "pin": PIN}))
    assert "Your PIN is locked" in visitor.text
    page_of(visitor.open(), 200)
    assert "Your PIN is locked" in visitor.text
    assert 'id="pin"' not in visitor.page
    assert status_of(world, world.merchants[0], visitor.payment_id) == "pending"


def test_what_is_no_pin_costs_no_try(world: Live, subtests: pytest.Subtests) -> None:
    for pin in ("", "12345", "1234567", "12345x", "१२३४५६", " 24681"):
        with subtests.test(pin):
            visitor = at(world).signed_in(world.customer())
            for _ in range(PIN_ATTEMPTS_MAX + 1):
                shown_again(visitor, visitor.confirm(pin))
                assert "Your PIN has six digits." in visitor.text
            visitor.confirm()
            assert visitor.has_paid()


def test_a_pin_is_right_in_the_digits_of_every_keyboard(world: Live, subtests: pytest.Subtests) -> None:
    for zero in ("\N{ARABIC-INDIC DIGIT ZERO}", "\N{EXTENDED ARABIC-INDIC DIGIT ZERO}"):
        with subtests.test(zero):
            visitor = at(world).signed_in(world.customer())
            visitor.confirm("".join(chr(ord(zero) + int(digit)) for digit in PIN))
            assert visitor.has_paid()


def test_too_little_money_is_said_with_what_is_there(world: Live) -> None:
    customer = world.person(verified=True)
    world.deposit(customer.account, 1234)
    visitor = at(world, amount=1235).signed_in(customer)
    assert "Your balance 12.34 USD" in visitor.text
    assert "Missing 0.01 USD" in visitor.text
    assert "Not enough money in your account Nothing was paid. Add money" in visitor.text
    assert 'href="/wallet"' in visitor.page
    assert 'id="pin"' not in visitor.page


def test_money_that_went_meanwhile_is_said_too(world: Live) -> None:
    customer = world.person(verified=True)
    world.deposit(customer.account, 1000)
    visitor = at(world, amount=1000).signed_in(customer)
    world.data(pay(customer, world.payment(world.merchants[0], amount=1)))
    shown_again(visitor, visitor.confirm())
    assert "Your balance 9.99 USD" in visitor.text
    assert status_of(world, world.merchants[0], visitor.payment_id) == "pending"


def test_nobody_pays_their_own_shop(world: Live) -> None:
    merchant = world.merchants[0]
    world.deposit(merchant.personal, 500)
    visitor = at(world).signed_in(merchant.email)
    assert "This is your own shop You cannot pay yourself." in visitor.text
    assert 'id="pin"' not in visitor.page


def test_who_is_not_verified_or_suspended_is_told(world: Live) -> None:
    customer = world.customer()
    visitor = at(world).signed_in(customer)
    world.act("account suspend", account=customer.account)
    assert visitor.confirm().status_code == 403  # Nobody is signed in any more.
    visitor.signed_in(customer)
    assert "Your account is suspended" in visitor.text


def test_a_shop_that_is_suspended_takes_nothing_and_is_not_called_verified(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    visitor = Visitor(world, world.payment(merchant)).signed_in(customer)
    assert "Verified business" in visitor.text
    form = visitor.form("confirm")
    world.act("account suspend", account=merchant.account)
    shown_again(visitor, visitor.post("confirm", {**form, "pin": PIN}))
    for _ in range(2):
        assert "This shop cannot take payments at the moment" in visitor.text
        assert "Verified business" not in visitor.text
        visitor.open()


def test_a_test_payment_says_that_it_is_one_and_asks_for_nothing(world: Live) -> None:
    merchant = world.merchants[0]
    test_id = world.data(create(merchant.test_key))["id"]
    for visitor in (Visitor(world, test_id), at(world).signed_in(world.customer()).elsewhere(test_id)):
        page_of(visitor.open(), 200)
        assert "Test payment. No money moves." in visitor.text
        assert "cannot be paid from a real account" in visitor.text
        assert "<input" not in slip_of(visitor)
    live = at(world)
    live.open()
    assert "Test payment" not in live.text


def test_a_live_customer_who_posts_to_a_test_payment_pays_nothing(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    test_id = still.data(create(merchant.test_key))["id"]
    visitor = at(still).signed_in(customer).elsewhere(test_id)
    # No page has such a form; with one, the rules still refuse.
    tie = token_hash(visitor.cookies["qirsh"].encode()).hex()
    facts = ("100", "USD", merchant.test_account, "Shop")
    token = still.context.keyring.form_token
    form = {"token": token("confirm", tie, test_id), "shown": token("shown", tie, test_id, *facts), "pin": PIN}
    shown_again(visitor, visitor.post("confirm", form))
    assert "cannot be paid from a real account" in visitor.text
    assert still.data(retrieve(merchant.test_key, test_id))["status"] == "pending"


def test_an_expired_payment_leads_to_the_cancel_address_only(still: InProcess) -> None:
    merchant = still.merchants[0]
    visitor = at(still, expiresIn=300, returnUrl=BACK, cancelUrl=GONE).signed_in(still.customer())
    form = visitor.form("confirm")
    still.clock.now += 300_000
    # By the clock already, before any worker has looked.
    page_of(visitor.open(), 200)
    assert "This payment has expired" in visitor.text
    assert "confirm" not in visitor.page
    shown_again(visitor, visitor.post("confirm", {**form, "pin": PIN}))
    assert "This payment has expired" in visitor.text
    assert still.expire_due() >= 1
    assert status_of(still, merchant, visitor.payment_id) == "expired"
    visitor.open()
    assert BACK not in visitor.page
    answer = visitor.open("cancel")
    location = f"{GONE}?paymentId={visitor.payment_id}&status=expired"
    assert (answer.status_code, answer.headers["location"]) == (303, location)


def test_a_cancelled_payment_leads_to_the_cancel_address_only(still: InProcess) -> None:
    merchant = still.merchants[0]
    visitor = at(still, returnUrl=BACK, cancelUrl=GONE).signed_in(still.customer())
    form = visitor.form("confirm")
    with still.books() as books:
        number = books.payment_number(visitor.payment_id)
    still.run(still.context.engine.submit(CancelPayment(number, int(merchant.account))))
    shown_again(visitor, visitor.post("confirm", {**form, "pin": PIN}))
    assert "The shop cancelled this payment" in visitor.text
    page_of(visitor.open(), 200)
    assert BACK not in visitor.page
    assert visitor.open("cancel").headers["location"] == f"{GONE}?paymentId={visitor.payment_id}&status=cancelled"


def test_what_somebody_else_has_paid_is_nobodys_business(world: Live) -> None:
    payer, other = world.customer(), world.customer()
    visitor = at(world, amount=4321, note="a private thing", returnUrl=BACK).signed_in(other)
    form = visitor.form("confirm")
    world.data(pay(payer, visitor.payment_id))
    shown_again(visitor, visitor.post("confirm", {**form, "pin": PIN}))
    stranger = Visitor(world, visitor.payment_id)
    stranger.open()
    again = visitor.elsewhere(visitor.payment_id)
    again.open()
    for page in (visitor, stranger, again):
        assert "Already paid" in page.text
        for private in ("43.21", "a private thing", payer.account, "Receipt", BACK, "Shop"):
            assert private not in page.page
    assert world.balance(other) == FUNDS


def test_the_payer_who_comes_back_signed_out_signs_in_and_sees_the_receipt(world: Live) -> None:
    payer = world.customer()
    visitor = at(world)
    world.data(pay(payer, visitor.payment_id))
    visitor.signed_in(payer)
    assert "You can close this page" in visitor.text


# Leaving.


def test_who_cancels_goes_back_and_the_payment_stays(world: Live) -> None:
    visitor = at(world, cancelUrl=f"{GONE}?basket=3#top", returnUrl=BACK)
    visitor.open()
    assert f'href="/pay/{visitor.payment_id}/cancel">Cancel and go back to the shop' in visitor.page
    answer = visitor.open("cancel")
    location = f"{GONE}?basket=3&paymentId={visitor.payment_id}&status=pending#top"
    assert (answer.status_code, answer.content, answer.headers["location"]) == (303, b"", location)
    assert status_of(world, world.merchants[0], visitor.payment_id) == "pending"


def test_who_cancels_without_a_cancel_address_is_told_that_nothing_was_paid(world: Live) -> None:
    visitor = at(world, returnUrl=BACK)
    page_of(visitor.open("cancel"), 200)
    assert "Nothing was paid" in visitor.text
    assert BACK not in visitor.page


def test_nobody_leaves_a_paid_payment_as_if_it_were_not(world: Live) -> None:
    visitor = at(world, cancelUrl=GONE).signed_in(world.customer())
    visitor.confirm()
    assert visitor.open("cancel").headers["location"] == f"/pay/{visitor.payment_id}"


# Once.


def test_twenty_confirms_at_once_pay_once(anywhere: World, subtests: pytest.Subtests) -> None:
    for return_url in (None, BACK):
        with subtests.test(f"{return_url!r:.60}"):
            customer = anywhere.customer()
            fields = {"amount": 777} | ({"returnUrl": return_url} if return_url else {})
            visitor = at(anywhere, **fields).signed_in(customer)
            form = visitor.posting("confirm", {**visitor.form("confirm"), "pin": PIN})
            answers = anywhere.together([form] * 20)
            assert {answer.status_code for answer in answers} == {303}
            assert len({answer.headers["location"] for answer in answers}) == 1
            assert anywhere.balance(customer) == FUNDS - 777
            assert anywhere.violations() == []


def test_refresh_back_and_a_second_tab_show_the_receipt(world: Live) -> None:
    customer = world.customer()
    visitor = at(world, returnUrl=BACK).signed_in(customer)
    second_tab = visitor.elsewhere(visitor.payment_id)
    second_tab.open()
    first = visitor.post("confirm", {**visitor.form("confirm"), "pin": PIN})
    again = second_tab.confirm()
    assert first.headers["location"] == again.headers["location"]
    for tab in (visitor, second_tab):
        tab.open()
        assert "You can close this page" in tab.text
    assert world.balance(customer) == FUNDS - 100


def test_two_people_who_confirm_at_once_pay_once(world: Live) -> None:
    people = [world.customer() for _ in range(4)]
    payment_id = world.payment(world.merchants[0], amount=50)
    visitors = [Visitor(world, payment_id).signed_in(person) for person in people]
    calls = [visitor.posting("confirm", {**visitor.form("confirm"), "pin": PIN}) for visitor in visitors]
    answers = world.together(calls)
    assert {answer.status_code for answer in answers} == {303}
    assert sorted(world.balance(person) for person in people) == [FUNDS - 50, FUNDS, FUNDS, FUNDS]


# Texts of the shop.


def test_a_note_is_shown_as_it_was_written(world: Live, subtests: pytest.Subtests) -> None:
    for kind, text in ODD_TEXTS.items():
        with subtests.test(kind):
            visitor = at(world, note=text)
            page = page_of(visitor.open(), 200)
            [note] = re.findall(r'<p dir="auto">(.*?)</p>', page, re.DOTALL)
            assert not re.search(r"[<>\"']", note)
            assert " ".join(text.split()) in visitor.text
            assert "49" not in note


def test_names_are_shown_as_they_are(still: InProcess, subtests: pytest.Subtests) -> None:
    for kind, text in ODD_TEXTS.items():
        with subtests.test(kind):
            merchant, customer = still.merchant(), still.customer()
            alter(still, merchant.account, name=text)
            visitor = Visitor(still, still.payment(merchant)).signed_in(customer)
            [name] = re.findall(r"<h1><bdi>(.*?)</bdi>", visitor.page)
            [title] = re.findall(r"<title>(.*?)</title>", visitor.page)
            for shown in (name, title):
                assert not re.search(r"[<>\"']", shown)
            assert " ".join(text.split()) in visitor.text
            assert visitor.page.count("<form") == 3  # To pay, to sign out, and to choose a language.
            assert "{0.__class__}" in text or "__class__" not in visitor.page
            # What is shown is also what is agreed to.
            visitor.confirm()
            assert visitor.has_paid()


def test_an_e_mail_address_comes_back_as_text(world: Live, subtests: pytest.Subtests) -> None:
    for text in ("<script>alert(1)</script>", '"><b>@x.example', "{{7*7}}@x.example"):
        with subtests.test(text):
            visitor = at(world)
            visitor.open()
            visitor.post("sign-in", {**visitor.form("sign-in"), "email": text, "password": "x"})
            [value] = re.findall(r'id="email"[^>]* value="([^"]*)"', visitor.page)
            assert "<" not in value
            page = visitor.page.partition("</head>")[2]
            assert page.count("<b>") == page.count("<script") == 0


def test_a_note_cannot_pass_for_the_payee(world: Live) -> None:
    claim = "Pay to: Central Bank ✓ Verified business\n\nAmount: 1.00 USD"
    visitor = at(world, note=claim)
    visitor.open()
    [name] = re.findall(r"<h1>(.*?)</h1>", visitor.page)
    assert name == "<bdi>Shop</bdi>"
    before, _, after = visitor.page.partition('<div class="note">')
    assert before.count('class="verified"') == 1
    assert "Central Bank" not in before
    assert "Note from the shop" in after.partition("Central Bank")[0]
    assert after.index("Central Bank") < after.index("</div>")


# What goes wrong is a page too.


def test_problems_of_pages_are_pages_with_the_request_id(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = at(still).signed_in(still.customer())
    answers = {
        404: still.send(Call("GET", "/pay/1")),
        405: still.send(visitor.call("DELETE")),
        403: visitor.elsewhere(visitor.payment_id).post("confirm", {}),
        415: still.send(visitor.call("POST", "confirm", b"{}", content_type="application/json")),
        422: visitor.elsewhere(visitor.payment_id).post("confirm", {"x": "y"}),
    }
    monkeypatch.setattr(batcher, "QUEUE_COMMANDS_MAX", 0)
    answers[503] = visitor.confirm()
    monkeypatch.undo()
    for status, answer in answers.items():
        assert answer.headers["x-request-id"] in page_of(answer, status)
    assert answers[405].headers["allow"] == "HEAD, GET"
    assert answers[503].headers["retry-after"] == "1"
    assert "Nothing was done" in answers[503].text
    assert f'href="/pay/{visitor.payment_id}"' in answers[503].text


def test_a_fault_of_ours_is_a_page_that_tells_nothing_of_us(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = at(still)
    monkeypatch.setattr("qirsh.web.pay.payment_page.payment_summary_of", None)
    page = page_of(visitor.open(), 500)
    for word in ("Traceback", "NoneType", "slip_of", ".py", "qirsh."):
        assert word not in page.replace("/static/qirsh.", "")


def test_pages_do_not_change_how_json_is_refused(world: Live) -> None:
    for call in (Call("GET", "/nothing"), Call("GET", BALANCES), Call("GET", "/pay/1/x.css")):
        assert world.send(call).headers["content-type"] == "application/problem+json"


def test_a_hostile_host_header_changes_nothing(world: Live) -> None:
    visitor = at(world, returnUrl=BACK).signed_in(world.customer())
    evil = {"x_forwarded_host": "evil.example", "forwarded": "host=evil.example", "x_forwarded_proto": "https"}
    answers = [
        visitor.open(host="evil.example", **evil),
        visitor.open(**evil),
        visitor.post("sign-out", {"token": ""}, evil),
        visitor.open(),
        visitor.post("confirm", {**visitor.form("confirm"), "pin": PIN}, evil),
        visitor.open("cancel", **evil),
    ]
    assert [answer.status_code for answer in answers] == [400, 200, 403, 200, 303, 303]
    for answer in answers:
        assert "evil" not in answer.text
        assert "evil" not in str(answer.headers)
