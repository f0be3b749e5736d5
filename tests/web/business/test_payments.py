"""Payments of a business on its pages: found, seen with their life, taken, cancelled and refunded by hand, once."""

import re

import pytest

from qirsh.domain.limits import RECENT_PROOF_MS
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Merchant, World, create, pay, trial
from tests.web.business.payouts import asked, ready
from tests.web.business.staff import CAPS, home, invite, join, owner, refund_form, take
from tests.web.webhooks import new_endpoint


def listed(guest: Guest) -> list[str]:
    return re.findall(r'href="/business/\d+/payments/(\d{16})"', guest.page)


def balance(world: World, merchant: Merchant, currency: str = "USD") -> int:
    with world.books() as books:
        rows = books.select(
            "SELECT amount FROM balance WHERE account = ? AND currency = ?", int(merchant.account), currency
        )
    return int(rows[0][0]) if rows else 0


# Lists.


@pytest.mark.both_engines
def test_payments_are_listed_newest_first_and_filtered_by_the_address(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = f"{home(merchant)}/payments"
    assert "No payments yet" in boss.read(base)
    first = still.payment(merchant)
    still.clock.advance(1000)
    paid = still.paid(merchant, still.customers[0])
    still.clock.advance(1000)
    other = still.data(create(merchant.key, currency="EUR"))["id"]
    boss.read(base)
    assert listed(boss) == [other, paid, first]
    boss.read(base, status="paid")
    assert listed(boss) == [paid]
    boss.read(base, currency="EUR")
    assert listed(boss) == [other]
    boss.read(base, status="pending", currency="USD")
    assert listed(boss) == [first]
    assert "Nothing was found" in boss.read(base, status="cancelled")
    assert boss.ask(base, q=f"{first[:4]} {first[4:]}").headers["location"] == f"{base}/{first}"


def test_what_makes_no_sense_in_the_address_is_said(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], int, str]] = [
        ({"from_": "2026-02-30"}, 422, "valid date"),
        ({"from_": "2026-02-02", "to": "2026-02-01"}, 422, "before the start"),
        ({"refunded": "odd"}, 422, ""),
        ({"by": "odd"}, 422, ""),
        ({"status": "odd"}, 422, ""),
        ({"currency": "XXX"}, 422, ""),
        ({"after": "odd"}, 422, ""),
    ]
    for query, status, says in cases:
        with subtests.test(query=query, status=status, says=says):
            assert boss.ask(f"{home(merchant)}/payments", **query).status_code == status
            assert says in boss.text


def test_every_payment_is_on_one_page(still: InProcess) -> None:
    boss, merchant = owner(still)
    made = [still.payment(merchant) for _ in range(45)]
    found, path = [], f"{home(merchant)}/payments"
    while path:
        boss.open(path)
        found += listed(boss)
        older = re.search(r'href="([^"]+)" rel="next"', boss.page)
        path = older[1].replace("&amp;", "&") if older else ""
    assert sorted(found) == sorted(made)


def test_names_of_payers_are_for_those_who_may_know_them(still: InProcess) -> None:
    _, merchant = owner(still)
    customer = still.customers[0]
    payment = still.paid(merchant, customer)
    with still.books() as books:
        [(name,)] = books.select("SELECT name FROM account WHERE number = ?", int(customer.account))
    for role, is_shown in (("cashier", True), ("accountant", True), ("viewer", False), ("developer", False)):
        guest = join(still, merchant, role)
        for page in ("", f"/{payment}"):
            assert (name in guest.read(f"{home(merchant)}/payments{page}")) == is_shown, (role, page)
            assert is_shown or customer.account not in guest.text.replace(" ", "")


# One payment.


@pytest.mark.both_engines
def test_a_payment_shows_its_life_in_order(still: InProcess) -> None:
    boss, merchant = owner(still)
    new_endpoint(still, merchant.key)
    payment = still.data(create(merchant.key, metadata={"order": "A-1", "n": 1.0}, reference="R-9"))["id"]
    boss.read(f"{home(merchant)}/payments/{payment}")
    assert f"/pay/{payment}" in boss.page
    assert '"n": 1.0' in boss.text.replace("&#34;", '"')
    assert "R-9" in boss.text
    paid = still.paid(merchant, still.customers[0])
    path = refund_form(boss, home(merchant), paid)
    boss.follow(boss.post(path, amount="0.30", note="Sorry"))
    assert "was refunded" in boss.text
    words = boss.text
    assert words.index("Created") < words.index("Sorry")
    assert "In the ledger" in words
    assert "Events and deliveries" in words
    assert re.search(r"evt_0_\d+_\d+", words)


def test_another_shop_s_payment_is_not_there(still: InProcess) -> None:
    boss, merchant = owner(still)
    other = still.payment(still.merchants[0])
    test = still.data(create(merchant.test_key))["id"]
    for payment in (other, test, "1234567890123456", "none"):
        for path in (f"/payments/{payment}", f"/payments/{payment}/refund", f"/sell/{payment}"):
            assert boss.open(f"{home(merchant)}{path}").status_code == 404, path
    assert boss.open(f"/business/{merchant.test_account}/payments/{test}").status_code == 200


# By hand.


def test_a_payment_by_hand_is_made_once_and_says_who_made_it(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "cashier", boss)
    guest.open(f"{home(merchant)}/take")
    call = guest.posting(
        f"{home(merchant)}/take", amount="1,250.50", currency="USD", note="قهوة", reference="", lasts="week"
    )
    answers = still.together([call] * 3)
    [location] = {answer.headers["location"] for answer in answers}
    guest.read(location)
    assert "1,250.50" in guest.text
    assert "قهوة" in guest.text
    with still.books() as books:
        rows = books.select(
            "SELECT a.version, o.name FROM payment_act a JOIN payment p ON p.number = a.payment"
            " JOIN person o ON o.id = a.person WHERE p.merchant = ?",
            int(merchant.account),
        )
    [(version, name)] = rows
    assert version == 1
    assert name in boss.read(location)


def test_amounts_are_typed_as_people_of_the_language_type_them(still: InProcess) -> None:
    _, merchant = owner(still)
    guest = Guest(still, "tr").signed_in(merchant.email)
    payment = take(guest, home(merchant), amount="1.234,56")
    with still.books() as books:
        rows = books.select("SELECT amount FROM payment WHERE merchant = ?", int(merchant.account))
    assert rows == [(123_456,)]
    assert payment


def test_what_is_wrong_with_a_payment_by_hand_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str]] = [
        ({"amount": "0"}, "Enter a valid amount"),
        ({"amount": "1.234,5"}, "Enter a valid amount"),
        ({"amount": "-1"}, "Enter a valid amount"),
        ({"amount": "1e3"}, "Enter a valid amount"),
        ({"currency": "XXX"}, "Choose one of these"),
        ({"lasts": "year"}, "Choose one of these"),
        ({"reference": "x" * 65}, "on one line"),
    ]
    for changes, says in cases:
        with subtests.test(changes=changes, says=says):
            boss.open(f"{home(merchant)}/take")
            fields = {"amount": "1", "currency": "USD", "note": "", "reference": "", "lasts": "day", **changes}
            assert boss.post(f"{home(merchant)}/take", **fields).status_code == 422
            assert says in boss.text


def test_a_counter_shows_a_code_and_then_that_it_is_paid(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = f"/business/{merchant.test_account}"
    boss.open(f"{base}/sell")
    location = boss.post(f"{base}/sell", amount="5", currency="TRY", note="", reference="", lasts="").headers[
        "location"
    ]
    boss.read(location)
    assert "<svg" in boss.page
    payment = location.rpartition("/")[2]
    assert f'data-follow="/pay/{payment}"' in boss.page
    still.data(trial(merchant.test_key, "pay", payment))
    boss.read(location)
    assert "Next customer" in boss.text
    assert '<svg class="qr"' not in boss.page


def test_a_payment_is_cancelled_by_hand_unless_it_was_paid_meanwhile(still: InProcess) -> None:
    boss, merchant = owner(still)
    payment = take(boss, home(merchant))
    path = f"{home(merchant)}/payments/{payment}"
    boss.open(path)
    boss.follow(boss.post(f"{path}/cancel"))
    assert "was cancelled" in boss.text
    boss.open(path)
    assert f'action="{path}/cancel"' not in boss.page


# Refunds.


@pytest.mark.both_engines
def test_one_form_refunds_once_however_often_it_is_sent(still: InProcess) -> None:
    boss, merchant = owner(still)
    payment = still.paid(merchant, still.customers[0])
    before = balance(still, merchant)
    path = refund_form(boss, home(merchant), payment)
    call = boss.posting(path, amount="0.40", note="")
    assert {answer.status_code for answer in still.together([call] * 4)} == {303}
    assert balance(still, merchant) == before - 40


@pytest.mark.both_engines
def test_two_colleagues_with_the_same_page_refund_once(still: InProcess) -> None:
    boss, merchant = owner(still)
    manager = join(still, merchant, "manager", boss)
    payment = still.paid(merchant, still.customers[0])
    before = balance(still, merchant)
    paths = [refund_form(guest, home(merchant), payment) for guest in (boss, manager)]
    calls = [guest.posting(path, amount="0.40", note="") for guest, path in zip((boss, manager), paths, strict=True)]
    answers = still.together(calls)
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    assert balance(still, merchant) == before - 40
    [late] = [answer for answer in answers if answer.status_code == 409]
    assert "This payment has changed since you opened this page" in late.text


def test_a_refund_by_hand_asks_for_the_password_after_ten_minutes(still: InProcess) -> None:
    boss, merchant = owner(still)
    payment = still.paid(merchant, still.customers[0])
    still.clock.advance(RECENT_PROOF_MS + 1)
    path = refund_form(boss, home(merchant), payment)
    assert boss.post(path, amount="0.10", note="", password="wrong").status_code == 422
    assert "Incorrect password" in boss.text
    assert boss.post(path, amount="0.10", note="", password=PASSWORD).status_code == 303


def test_a_refund_of_nonsense_or_too_much_is_refused_beside_the_field(
    still: InProcess, subtests: pytest.Subtests
) -> None:
    cases: list[str] = ["0", "", "x", "-1", "1000000"]
    for amount in cases:
        with subtests.test(amount=amount):
            boss, merchant = owner(still)
            payment = still.paid(merchant, still.customers[0])
            before = balance(still, merchant)
            path = refund_form(boss, home(merchant), payment)
            assert boss.post(path, amount=amount, note="").status_code in {409, 422}
            assert "data-wrong" in boss.page
            assert balance(still, merchant) == before


@pytest.mark.both_engines
def test_a_cashier_refunds_up_to_the_cap(still: InProcess) -> None:
    boss, merchant = owner(still)
    cashier = join(still, merchant, "cashier", boss)  # 12.50 USD a day.
    payment = still.data(create(merchant.key, amount=3000))["id"]
    with_money = still.customers[0]
    still.data(pay(with_money, payment))
    path = refund_form(cashier, home(merchant), payment)
    assert "12.50" in cashier.text
    assert cashier.post(path, amount="12.51", note="").status_code == 409
    assert "more than you may still refund" in cashier.text
    path = refund_form(cashier, home(merchant), payment)
    assert cashier.post(path, amount="10", note="").status_code == 303
    path = refund_form(cashier, home(merchant), payment)
    assert "2.50" in cashier.text
    assert cashier.post(path, amount="3", note="").status_code == 409


def test_what_a_cashier_refunded_is_counted_after_they_were_away(still: InProcess) -> None:
    boss, merchant = owner(still)
    cashier = join(still, merchant, "cashier", boss)  # 12.50 USD a day.
    payment = still.data(create(merchant.key, amount=3000))["id"]
    still.data(pay(still.customers[0], payment))
    path = refund_form(cashier, home(merchant), payment)
    assert cashier.post(path, amount="10", note="").status_code == 303
    boss.open(f"{home(merchant)}/staff")
    [person] = set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', boss.page))
    for role in ("viewer", "cashier"):
        boss.open(f"{home(merchant)}/staff/{person}")
        assert boss.post(f"{home(merchant)}/staff/{person}", role=role, **CAPS).status_code == 303
    path = refund_form(cashier, home(merchant), payment)
    assert re.search(r"You may still refund \D*2\.50", cashier.text)
    assert cashier.post(path, amount="3", note="").status_code == 409


def test_a_cashier_who_paid_asks_a_colleague_for_the_refund(still: InProcess) -> None:
    boss, merchant = owner(still)
    customer = still.customer()
    invitation = f"/invitations/{invite(boss, merchant, customer.email, 'cashier')}"
    cashier = Guest(still).signed_in(customer)
    cashier.open(invitation)
    assert cashier.post(invitation, answer="accept").status_code == 303
    payment = still.paid(merchant, customer)
    before = balance(still, merchant)
    path = refund_form(cashier, home(merchant), payment)
    assert cashier.post(path, amount="0.10", note="").status_code == 409
    assert "You paid this yourself. Ask a colleague to refund it." in cashier.text
    assert balance(still, merchant) == before
    path = refund_form(boss, home(merchant), payment)
    assert boss.post(path, amount="0.10", note="").status_code == 303


def test_a_cashier_hears_that_the_balance_is_short_and_not_what_it_is(still: InProcess) -> None:
    boss, merchant = owner(still)
    cashier = join(still, merchant, "cashier", boss)
    payment = still.data(create(merchant.key, amount=3000))["id"]
    still.data(pay(still.customers[0], payment))
    other = still.data(create(merchant.key, amount=4111))["id"]
    still.data(pay(still.customers[0], other))
    refund_form(cashier, home(merchant), payment)
    assert "71.11" not in cashier.text
    assert "Balance" not in cashier.text
    assert "does not cover" not in cashier.text
    refund_form(boss, home(merchant), payment)
    assert "Balance available for refunds" in boss.text
    assert "71.11" in boss.text
    asked(still, merchant, ready(still, merchant), 4500)  # It is held, and 26.11 are left.
    refund_form(cashier, home(merchant), payment)
    assert "does not cover all that is left" in cashier.text
    assert "26.11" not in cashier.text


def test_a_payment_that_was_never_paid_has_no_refund_and_the_page_says_so(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = refund_form(boss, home(merchant), still.payment(merchant))
    assert "has not been paid, so there is nothing to refund" in boss.text
    assert "nothing left to refund" not in boss.text
    assert f'action="{path}"' not in boss.page
