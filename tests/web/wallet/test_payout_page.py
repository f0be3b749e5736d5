"""Payouts: asked for once with the PIN, sealed, taken back or refused, and paid by two operators."""

import re
from typing import Final

import pytest

from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.limits import PAYOUTS_OPEN_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.engine.bank_details import is_iban, normal_account
from tests.guest import Guest
from tests.live import FUNDS, PIN, WRONG_PIN, Call, Customer, InProcess, World, pay, refused
from tests.mailbox import mails, words_to

ADDRESS: Final = "/wallet/payouts"
IBAN: Final = "TR33 0006 1005 1978 6457 8413 26"
FIELDS: Final = {"amount": "1,234.50", "currency": "USD", "holder": "سارة خليل", "bank": "Ziraat", "account": IBAN}


def typed(guest: Guest, **changes: str) -> dict[str, str]:
    """The form of the page, filled in."""
    guest.read(ADDRESS)
    return {**guest.form(ADDRESS), **FIELDS, **changes}


def filled(guest: Guest, pin: str = PIN, **changes: str) -> dict[str, str]:
    """The form of the review, which is ready to be confirmed."""
    answer = guest.post(ADDRESS, typed(guest, **changes))
    assert answer.status_code == 200, answer.text
    return {**guest.form(ADDRESS), "pin": pin}


def asked(guest: Guest, **changes: str) -> str:
    """The id of a new payout."""
    form = filled(guest, **changes)
    answer = guest.post(ADDRESS, form)
    assert answer.status_code == 303, answer.text
    return f"po_{form['nonce']}"


def payouts(guest: Guest) -> list[tuple[str, str]]:
    with guest.world.books() as books:
        sql = "SELECT id, state FROM payout WHERE account = ? ORDER BY created_at, id"
        return [(row[0], row[1]) for row in books.select(sql, int(guest.account))]


@pytest.mark.both_engines
def test_a_payout_goes_from_the_form_to_the_bank(still: InProcess) -> None:
    still.change(has_mail=True)
    customer = still.customer()
    guest = Guest(still).entered(customer)
    payout = asked(guest)
    text = guest.read(ADDRESS)
    assert "Your payout was requested." in text
    assert "Your payout was requested." not in guest.read(ADDRESS)
    assert "1,234.50 USD" in text
    assert "Requested" in text
    assert still.held(customer.account) == FUNDS
    listed = next(one for one in still.act("payout list")["payouts"] if one["id"] == payout)
    assert (listed["holder"], listed["bank"], listed["bankAccount"]) == ("سارة خليل", "Ziraat", IBAN.replace(" ", ""))
    assert (listed["amount"], listed["currency"], listed["account"]) == ("1234.50", "USD", customer.account)
    still.act("payout order", id=payout, reference=f"ft {payout}")
    assert "On its way" in guest.read(ADDRESS)
    assert still.run(still.tried("withdraw confirm", {"reference": f"ft {payout}"}, 0)).code == "second_operator_needed"
    still.act("withdraw confirm", operator=1, reference=f"ft {payout}")
    assert still.held(customer.account) == FUNDS - 123450
    text = guest.read(ADDRESS)
    assert "Paid" in text
    assert f"ft {payout}" in text
    assert IBAN.replace(" ", "") not in text
    words = {"amount": 123450, "currency": "USD", "reference": f"ft {payout}"}
    assert words_to(still, customer.email)["payout_paid"] == words
    assert still.violations() == []


def test_what_is_kept_of_a_bank_account_is_sealed_and_gone_when_it_is_over(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    payout = asked(guest)
    with still.books() as books:
        [(kept,)] = books.select("SELECT bank_sealed FROM payout WHERE id = ?", payout)
    assert b"Ziraat" not in bytes(kept)
    assert IBAN.replace(" ", "").encode() not in bytes(kept)
    guest.read(ADDRESS)
    path = f"{ADDRESS}/{payout}/cancel"
    assert guest.post(path, guest.form(path)).headers["location"] == ADDRESS
    with still.books() as books:
        assert books.select("SELECT bank_sealed, state FROM payout WHERE id = ?", payout) == [(b"", "cancelled")]
    assert "The payout is cancelled." in guest.read(ADDRESS)


def test_the_same_form_sent_often_makes_one_payout(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    form = filled(guest)
    answers = still.together([guest.posting(ADDRESS, form)] * 5)
    assert {answer.headers.get("location") for answer in answers} == {ADDRESS}
    assert len(payouts(guest)) == 1
    # Another amount under the same number is reviewed first, and is no second payout.
    assert guest.post(ADDRESS, form | {"amount": "99"}).status_code == 200
    assert guest.post(ADDRESS, guest.form(ADDRESS) | {"pin": PIN}).status_code == 303
    assert "This form was already sent" in guest.read(ADDRESS)
    assert len(payouts(guest)) == 1


def test_a_payout_is_reviewed_before_it_is_made(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    before = still.counts()
    # A PIN that comes without a review is not even looked at.
    for pin in ("", WRONG_PIN, PIN):
        assert guest.post(ADDRESS, typed(guest, pin=pin)).status_code == 200
        for words in ("Review your payout", "1,234.50 USD", "سارة خليل", "Ziraat", IBAN, "Confirm payout"):
            assert words in guest.text, words
    form = guest.form(ADDRESS) | {"pin": PIN}
    # What is confirmed is what was shown.
    for name, value in {"amount": "1,234.51", "currency": "EUR", "holder": "Eve", "account": "98765432"}.items():
        assert guest.post(ADDRESS, form | {name: value}).status_code == 200
        assert "Review your payout" in guest.text
    assert guest.post(ADDRESS, form | {"shown": "0" * 64}).status_code == 200
    assert guest.post(ADDRESS, form | {"step": "edit"}).status_code == 200
    assert f'value="{IBAN.replace(" ", "")}"' in guest.page
    assert "Review your payout" not in guest.text
    assert still.counts() == before
    assert guest.post(ADDRESS, form).status_code == 303
    assert len(payouts(guest)) == 1


def test_each_wrong_field_is_told_beside_it_and_what_was_typed_stays(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    cases = {
        "amount": {
            "": "Required.",
            "1.234,50": "a valid amount",
            "-5": "a valid amount",
            "2,000,000": "not enough money",
        },
        "holder": {" ": "Required.", "x" * 101: "too long", "a\u202eb": "cannot be printed"},
        "bank": {"": "Required.", "x" * 101: "too long"},
        "account": {
            "": "Required.",
            "TR33 0006 1005 1978 6457 8413 27": "contains a typing error",
            "9" * 65: "too long",
            "123": "too short",
        },
    }
    for field, values in cases.items():
        for value, says in values.items():
            answer = guest.post(ADDRESS, typed(guest, **{field: value}))
            assert answer.status_code == 422, (field, value)
            wrong = re.search(rf'id="{field}-wrong">([^<]*)', guest.page)
            assert wrong, (field, value)
            assert says in wrong[1], (field, value)
            if field != "holder":
                assert FIELDS["holder"] in guest.page
    for pin in ("", "12345", "१२३४५६"):
        assert guest.post(ADDRESS, filled(guest, pin=pin)).status_code == 422
        assert 'id="pin-wrong">Your PIN has six digits.' in guest.page
    assert payouts(guest) == []


def test_wrong_pins_are_counted_and_lock(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    for left in (4, 3, 2):
        assert guest.post(ADDRESS, filled(guest, pin=WRONG_PIN)).status_code == 422
        assert f"{left} attempts are left" in guest.text
    guest.post(ADDRESS, filled(guest, pin=WRONG_PIN))
    assert "One attempt is left" in guest.text
    form = filled(guest)
    assert guest.post(ADDRESS, form | {"pin": WRONG_PIN}).status_code == 422
    # At once, and whenever one comes back: what to do about it, and no PIN to be typed.
    for _ in range(2):
        assert "Your PIN is locked" in guest.text
        assert 'href="/wallet/pin"' in guest.page
        assert "attempts are left" not in guest.text
        assert "Contact" not in guest.text
        assert 'id="pin"' not in guest.page
        assert guest.post(ADDRESS, form).status_code == 422
    guest.post(ADDRESS, typed(guest))
    assert "Your PIN is locked" in guest.text
    assert payouts(guest) == []


def test_amounts_are_read_in_the_readers_language(still: InProcess) -> None:
    guest = Guest(still, "tr").entered(still.customer())
    asked(guest, amount="1.234,50")
    asked(guest, amount="0,05", currency="SYP")
    assert guest.post(ADDRESS, typed(guest, amount="1,234.50")).status_code == 422
    with still.books() as books:
        sql = "SELECT amount, currency FROM payout WHERE account = ?"
        assert set(books.select(sql, int(guest.account))) == {(123450, "USD"), (5, "SYP")}


def test_only_so_many_are_open_at_once(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    for _ in range(PAYOUTS_OPEN_MAX):
        form = filled(guest, amount="1")
        asked(guest, amount="1")
    assert "reached the maximum number of open payouts" in guest.read(ADDRESS)
    assert guest.post(ADDRESS, form).status_code == 422
    assert len(payouts(guest)) == PAYOUTS_OPEN_MAX
    first, _ = payouts(guest)[0]
    guest.read(ADDRESS)
    path = f"{ADDRESS}/{first}/cancel"
    guest.post(path, guest.form(path))
    asked(guest, amount="1")


@pytest.mark.both_engines
def test_forms_that_are_sent_at_once_open_no_more_than_one_by_one(anywhere: World) -> None:
    guest = Guest(anywhere).signed_in(anywhere.customer())
    forms = [filled(guest, amount="1") for _ in range(PAYOUTS_OPEN_MAX + 3)]
    answers = anywhere.together([guest.posting(ADDRESS, form) for form in forms])
    assert sorted(answer.status_code for answer in answers) == [303] * PAYOUTS_OPEN_MAX + [422] * 3
    refused = next(answer for answer in answers if answer.status_code == 422)
    assert "reached the maximum number of open payouts" in refused.text
    text = guest.read(ADDRESS)
    assert text.count("Requested") == PAYOUTS_OPEN_MAX


def test_a_payout_of_somebody_else_is_as_one_that_never_was(still: InProcess) -> None:
    owner, stranger = Guest(still).entered(still.customer()), Guest(still).entered(still.customer())
    theirs, own = asked(owner), asked(stranger)
    stranger.read(ADDRESS)
    form = stranger.form(f"{ADDRESS}/{own}/cancel")
    assert theirs not in stranger.page
    before = still.counts()
    answers = [
        stranger.post(f"{ADDRESS}/{one}/cancel", form) for one in (theirs, "po_" + "0" * 32, "x", "%27%20OR%201=1")
    ]
    bodies = {answer.text.replace(answer.headers["x-request-id"], "") for answer in answers}
    assert {answer.status_code for answer in answers} == {404}
    assert len(bodies) == 1
    assert still.counts() == before
    assert payouts(owner) == [(theirs, "asked")]


def test_forms_of_others_and_forms_without_a_token_do_nothing(still: InProcess) -> None:
    mine, theirs = Guest(still).entered(still.customer()), Guest(still).entered(still.customer())
    form = filled(mine)
    for bad in (form | {"token": ""}, form | {"nonce": "0" * 32}, form | {"nonce": "../x"}):
        assert mine.post(ADDRESS, bad).status_code == 403
    assert theirs.post(ADDRESS, form).status_code == 403
    assert still.send(Call("GET", ADDRESS)).headers["location"] == "/sign-in?next=%2Fwallet%2Fpayouts"
    assert payouts(mine) == payouts(theirs) == []


@pytest.mark.both_engines
def test_what_is_ordered_can_no_longer_be_taken_back(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    payout = asked(guest)
    guest.read(ADDRESS)
    path = f"{ADDRESS}/{payout}/cancel"
    form = guest.form(path)
    ordered = still.act("payout order", id=payout, reference=f"late {payout}")
    guest.post(path, form)
    assert "can no longer be cancelled" in guest.read(ADDRESS)
    assert payouts(guest) == [(payout, "ordered")]
    again = still.run(still.tried("payout order", {"id": payout, "reference": f"twice {payout}"}, 0))
    assert again.code == "move_not_allowed"
    # What the bank would not send is refused: first its order, which moves nothing any more, and then the payout.
    refuse = {"id": payout, "reason": "The bank has sent it back"}
    reply = still.run(still.tried("payout refuse", refuse, 0))
    assert (reply.code, "`qirsh proposal list`" in reply.detail) == ("move_not_allowed", True)
    still.act("proposal refuse", 1, id=ordered["id"], digest=ordered["digest"], reason="The bank has sent it back")
    reply = still.run(still.tried("withdraw confirm", {"reference": f"late {payout}"}, 1))
    assert reply.code == "not_found"
    assert payouts(guest) == [(payout, "asked")]
    assert still.run(still.tried("payout refuse", refuse, 0)).code == ""
    assert payouts(guest) == [(payout, "refused")]


def test_what_was_ordered_for_nothing_can_be_taken_back_again(still: InProcess) -> None:
    guest = Guest(still).entered(still.customer())
    payout = asked(guest)
    ordered = still.act("payout order", id=payout, reference=f"withdrawn {payout}")
    still.act("proposal withdraw", id=ordered["id"], digest=ordered["digest"], reason="another bank")
    guest.read(ADDRESS)
    path = f"{ADDRESS}/{payout}/cancel"
    guest.post(path, guest.form(path))
    assert payouts(guest) == [(payout, "cancelled")]


def test_a_refusal_is_told_with_its_reason(still: InProcess) -> None:
    still.change(has_mail=True)
    customer = still.customer()
    guest = Guest(still).entered(customer)
    payout = asked(guest)
    assert still.run(still.tried("payout refuse", {"id": payout, "reason": ""}, 0)).code == "invalid"
    still.act("payout refuse", id=payout, reason="The bank knows no such account")
    text = guest.read(ADDRESS)
    assert "Declined" in text
    assert "The bank knows no such account" in text
    words = {"amount": 123450, "currency": "USD", "reason": "The bank knows no such account"}
    assert words_to(still, customer.email)["payout_refused"] == words
    still.change(has_mail=False)
    count = len(mails(still))
    still.act("payout refuse", id=asked(guest), reason="again")
    assert len(mails(still)) == count


def test_nobody_reads_bank_accounts_without_being_an_operator(still: InProcess) -> None:
    asked(Guest(still).entered(still.customer()))
    operators, still.operators = still.operators, []
    try:
        reply = still.run(still.tried("payout list", {}))
    finally:
        still.operators = operators
    assert reply.done is None
    assert reply.code == "credentials_needed"


def test_what_a_payout_asks_for_is_kept_for_it(still: InProcess) -> None:
    customer: Customer = still.customer()
    guest = Guest(still).entered(customer)
    payout = asked(guest, amount="999,999.00")
    assert "999,999.00 USD of it is held for payouts." in guest.read("/wallet")
    refused(still.send(pay(customer, still.payment(still.merchants[0], amount=101))), 409, "insufficient_funds")
    still.paid(still.merchants[0], customer, amount=100)
    still.act("payout order", id=payout, reference=f"kept {payout}")
    assert still.run(still.tried("withdraw confirm", {"reference": f"kept {payout}"}, 1)).code == ""
    assert still.held(customer.account) == 0
    assert payouts(guest) == [(payout, "paid")]


def test_who_is_not_verified_is_told_what_to_do_first(still: InProcess) -> None:
    person = still.person(verified=False)
    guest = Guest(still).entered(person)
    assert "Verify your identity first" in guest.read(ADDRESS)
    command = RequestPayout("po_1", int(person.account), guest.person, "USD", 1, b"x", ())
    assert still.run(still.context.engine.submit(command)) == Refused(Refusal.NOT_VERIFIED)
    empty = Guest(still).entered(still.person(verified=True))
    assert "Nothing to pay out" in empty.read(ADDRESS)


def test_an_iban_must_check_and_other_numbers_stay_as_they_are(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        (IBAN, IBAN.replace(" ", ""), ""),
        ("gb82 west 1234 5698 7654 32", "GB82WEST12345698765432", ""),
        ("GB82 WEST 1234 5698 7654 23", "GB82 WEST 1234 5698 7654 23", "iban_mistyped"),
        ("٠١٢٣ 4567", "0123 4567", ""),
        ("AB12 3456", "AB12 3456", ""),
        ("٠١٢٣ 45", "0123 45", "too_short"),
        ("AB-12/../3", "AB-12/../3", "too_short"),
        ("  ", "", "empty"),
    ]
    for typed, kept, wrong in cases:
        with subtests.test(typed=typed, kept=kept, wrong=wrong):
            assert normal_account(typed) == (kept, wrong)


def test_every_single_mistake_in_an_iban_is_found() -> None:
    right = IBAN.replace(" ", "")
    assert is_iban(right)
    for place in range(2, len(right)):
        for digit in set("0123456789") - {right[place]}:
            assert not is_iban(right[:place] + digit + right[place + 1 :])
