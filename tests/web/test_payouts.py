"""Payouts: asked for once with the PIN, sealed, taken back or refused, and paid by two operators."""

import re
from typing import Final

import pytest

from qirsh.domain.limits import PAYOUTS_OPEN_MAX
from qirsh.domain.people_command import AskPayout
from qirsh.engine.envelope import opened
from qirsh.web.bank_details import is_iban, normal_account
from tests.live import PIN, PURSE, WRONG_PIN, Call, Customer, InProcess, pay, refused
from tests.web.purse import Purse

ADDRESS: Final = "/wallet/payouts"
IBAN: Final = "TR33 0006 1005 1978 6457 8413 26"
FIELDS: Final = {"amount": "1,234.50", "currency": "USD", "holder": "سارة خليل", "bank": "Ziraat", "account": IBAN}


def filled(purse: Purse, **changes: str) -> dict[str, str]:
    """The form of the page, filled in."""
    purse.read(ADDRESS)
    return {**purse.form(ADDRESS), **FIELDS, "pin": PIN, **changes}


def asked(purse: Purse, **changes: str) -> str:
    """The id of a new payout."""
    form = filled(purse, **changes)
    answer = purse.post(ADDRESS, form)
    assert answer.status_code == 303, answer.text
    return f"po_{form['nonce']}"


def payouts(purse: Purse) -> list[tuple[str, str]]:
    with purse.world.books() as books:
        sql = "SELECT id, state FROM payout WHERE account = ? ORDER BY created_at, id"
        return [(row[0], row[1]) for row in books.select(sql, int(purse.who.account))]


def mails(world: InProcess) -> list[tuple[str, str, dict[str, str | int]]]:
    with world.books() as books:
        sealed = [bytes(row[0]) for row in books.select("SELECT sealed FROM mail ORDER BY created_at")]
    found = [opened(world.parts.keyring, one) for one in sealed]
    return [(mail.to, mail.kind, mail.words) for mail in found if mail]


def test_a_payout_goes_from_the_form_to_the_bank(still: InProcess) -> None:
    still.change(has_mail=True)
    customer = still.customer()
    purse = Purse(still, customer)
    payout = asked(purse)
    text = purse.read(ADDRESS)
    assert "Your payout is asked for." in text
    assert "Your payout is asked for." not in purse.read(ADDRESS)
    assert "1,234.50 USD" in text
    assert "Asked for" in text
    assert still.held(customer.account) == PURSE
    listed = next(one for one in still.act("payout list")["payouts"] if one["id"] == payout)
    assert (listed["holder"], listed["bank"], listed["bankAccount"]) == ("سارة خليل", "Ziraat", IBAN.replace(" ", ""))
    assert (listed["amount"], listed["currency"], listed["account"]) == ("1234.50", "USD", customer.account)
    still.act("payout order", id=payout, reference=f"ft {payout}")
    assert "On its way" in purse.read(ADDRESS)
    assert still.run(still.tried("withdraw confirm", {"reference": f"ft {payout}"}, 0)).code == "second_operator_needed"
    still.act("withdraw confirm", operator=1, reference=f"ft {payout}")
    assert still.held(customer.account) == PURSE - 123450
    text = purse.read(ADDRESS)
    assert "Paid" in text
    assert f"ft {payout}" in text
    assert IBAN.replace(" ", "") not in text
    words = {"amount": 123450, "currency": "USD", "reference": f"ft {payout}"}
    assert (customer.email, "payout_paid", words) in mails(still)
    assert still.violations() == []


def test_what_is_kept_of_a_bank_account_is_sealed_and_gone_when_it_is_over(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    payout = asked(purse)
    with still.books() as books:
        [(kept,)] = books.select("SELECT bank_sealed FROM payout WHERE id = ?", payout)
    assert b"Ziraat" not in bytes(kept)
    assert IBAN.replace(" ", "").encode() not in bytes(kept)
    purse.read(ADDRESS)
    path = f"{ADDRESS}/{payout}/cancel"
    assert purse.post(path, purse.form(path)).headers["location"] == ADDRESS
    with still.books() as books:
        assert books.select("SELECT bank_sealed, state FROM payout WHERE id = ?", payout) == [(b"", "cancelled")]
    assert "The payout is cancelled." in purse.read(ADDRESS)


def test_the_same_form_sent_often_makes_one_payout(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    form = filled(purse)
    answers = still.together([purse.posting(ADDRESS, form)] * 5)
    assert {answer.headers.get("location") for answer in answers} == {ADDRESS}
    assert len(payouts(purse)) == 1
    purse.post(ADDRESS, form | {"amount": "99"})
    assert "This form was sent before" in purse.read(ADDRESS)
    assert len(payouts(purse)) == 1


def test_each_wrong_field_is_told_beside_it_and_what_was_typed_stays(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    cases = {
        "amount": {"": "needed", "1.234,50": "not an amount", "-5": "not an amount", "2,000,000": "not this much"},
        "holder": {" ": "needed", "x" * 101: "too long", "a\u202eb": "cannot be printed"},
        "bank": {"": "needed", "x" * 101: "too long"},
        "account": {"": "needed", "TR33 0006 1005 1978 6457 8413 27": "mistyped", "9" * 65: "too long"},
        "pin": {"": "six digits", "12345": "six digits", "१२३४५६": "six digits"},
    }
    for field, values in cases.items():
        for value, says in values.items():
            answer = purse.post(ADDRESS, filled(purse, **{field: value}))
            assert answer.status_code == 422, (field, value)
            wrong = re.search(rf'id="{field}-wrong" role="alert">([^<]*)', purse.page)
            assert wrong, (field, value)
            assert says in wrong[1], (field, value)
            if field not in {"holder", "pin"}:
                assert FIELDS["holder"] in purse.page
            assert PIN not in purse.page
    assert payouts(purse) == []


def test_wrong_pins_are_counted_and_lock(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    for left in (4, 3, 2):
        assert purse.post(ADDRESS, filled(purse, pin=WRONG_PIN)).status_code == 422
        assert f"{left} tries are left" in purse.text
    purse.post(ADDRESS, filled(purse, pin=WRONG_PIN))
    assert "One try is left" in purse.text
    purse.post(ADDRESS, filled(purse, pin=WRONG_PIN))
    assert purse.post(ADDRESS, filled(purse)).status_code == 422
    assert "Your PIN is locked" in purse.text
    assert payouts(purse) == []


def test_amounts_are_read_in_the_readers_language(still: InProcess) -> None:
    purse = Purse(still, still.customer(), "tr")
    asked(purse, amount="1.234,50")
    asked(purse, amount="0,05", currency="SYP")
    assert purse.post(ADDRESS, filled(purse, amount="1,234.50")).status_code == 422
    with still.books() as books:
        sql = "SELECT amount, currency FROM payout WHERE account = ?"
        assert set(books.select(sql, int(purse.who.account))) == {(123450, "USD"), (5, "SYP")}


def test_only_so_many_are_open_at_once(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    for _ in range(PAYOUTS_OPEN_MAX):
        form = filled(purse, amount="1")
        asked(purse, amount="1")
    assert "as many open payouts as there can be" in purse.read(ADDRESS)
    assert purse.post(ADDRESS, form).status_code == 422
    assert len(payouts(purse)) == PAYOUTS_OPEN_MAX
    first, _ = payouts(purse)[0]
    purse.read(ADDRESS)
    path = f"{ADDRESS}/{first}/cancel"
    purse.post(path, purse.form(path))
    asked(purse, amount="1")


def test_a_payout_of_somebody_else_is_as_one_that_never_was(still: InProcess) -> None:
    owner, stranger = Purse(still, still.customer()), Purse(still, still.customer())
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
    mine, theirs = Purse(still, still.customer()), Purse(still, still.customer())
    form = filled(mine)
    for bad in (form | {"token": ""}, form | {"nonce": "0" * 32}, form | {"nonce": "../x"}):
        assert mine.post(ADDRESS, bad).status_code == 403
    assert theirs.post(ADDRESS, form).status_code == 403
    assert still.send(Call("GET", ADDRESS)).headers["location"] == "/sign-in"
    assert payouts(mine) == payouts(theirs) == []


def test_what_is_ordered_can_no_longer_be_taken_back(still: InProcess) -> None:
    purse = Purse(still, still.customer())
    payout = asked(purse)
    purse.read(ADDRESS)
    path = f"{ADDRESS}/{payout}/cancel"
    form = purse.form(path)
    still.act("payout order", id=payout, reference=f"late {payout}")
    purse.post(path, form)
    assert "can no longer be cancelled" in purse.read(ADDRESS)
    assert payouts(purse) == [(payout, "ordered")]
    again = still.run(still.tried("payout order", {"id": payout, "reference": f"twice {payout}"}, 0))
    assert again.code == "move_not_allowed"
    # What the bank would not send is refused, and its order moves nothing any more.
    still.act("payout refuse", id=payout, reason="The bank has sent it back")
    reply = still.run(still.tried("withdraw confirm", {"reference": f"late {payout}"}, 1))
    assert reply.code == "move_not_allowed"
    assert payouts(purse) == [(payout, "refused")]


def test_a_refusal_is_told_with_its_reason(still: InProcess) -> None:
    still.change(has_mail=True)
    customer = still.customer()
    purse = Purse(still, customer)
    payout = asked(purse)
    assert still.run(still.tried("payout refuse", {"id": payout, "reason": ""}, 0)).code == "invalid"
    still.act("payout refuse", id=payout, reason="The bank knows no such account")
    text = purse.read(ADDRESS)
    assert "Not made" in text
    assert "The bank knows no such account" in text
    words = {"amount": 123450, "currency": "USD", "reason": "The bank knows no such account"}
    assert (customer.email, "payout_refused", words) in mails(still)
    still.change(has_mail=False)
    count = len(mails(still))
    still.act("payout refuse", id=asked(purse), reason="again")
    assert len(mails(still)) == count


def test_nobody_reads_bank_accounts_without_being_an_operator(still: InProcess) -> None:
    asked(Purse(still, still.customer()))
    operators, still.operators = still.operators, []
    try:
        reply = still.run(still.tried("payout list", {}))
    finally:
        still.operators = operators
    assert reply.done is None
    assert reply.code == "wrong_credentials"


def test_what_a_payout_asks_for_is_kept_for_it(still: InProcess) -> None:
    customer: Customer = still.customer()
    purse = Purse(still, customer)
    payout = asked(purse, amount="999,999.00")
    assert "999,999.00 USD of it is kept for payouts." in purse.read("/wallet")
    refused(still.send(pay(customer, still.payment(still.merchants[0], amount=101))), 409, "insufficient_funds")
    still.paid(still.merchants[0], customer, amount=100)
    still.act("payout order", id=payout, reference=f"kept {payout}")
    assert still.run(still.tried("withdraw confirm", {"reference": f"kept {payout}"}, 1)).code == ""
    assert still.held(customer.account) == 0
    assert payouts(purse) == [(payout, "paid")]


def test_who_is_not_verified_is_told_what_to_do_first(still: InProcess) -> None:
    person = still.person(verified=False)
    purse = Purse(still, person)
    assert "Confirm your identity first" in purse.read(ADDRESS)
    command = AskPayout("po_1", int(person.account), purse.person, "USD", 1, b"x", ())
    assert still.run(still.parts.engine.submit(command)).why.value == "not_verified"
    empty = Purse(still, still.person(verified=True))
    assert "There is nothing to pay out" in empty.read(ADDRESS)


@pytest.mark.parametrize(
    ("typed", "kept", "wrong"),
    [
        (IBAN, IBAN.replace(" ", ""), ""),
        ("gb82 west 1234 5698 7654 32", "GB82WEST12345698765432", ""),
        ("GB82 WEST 1234 5698 7654 23", "GB82 WEST 1234 5698 7654 23", "iban_mistyped"),
        ("٠١٢٣ 45", "0123 45", ""),
        ("AB12", "AB12", ""),
        ("  ", "", "empty"),
    ],
)
def test_an_iban_must_check_and_other_numbers_stay_as_they_are(typed: str, kept: str, wrong: str) -> None:
    assert normal_account(typed) == (kept, wrong)


def test_every_single_mistake_in_an_iban_is_found() -> None:
    right = IBAN.replace(" ", "")
    assert is_iban(right)
    for place in range(2, len(right)):
        for digit in set("0123456789") - {right[place]}:
            assert not is_iban(right[:place] + digit + right[place + 1 :])
