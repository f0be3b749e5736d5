"""Receipts: what they show to whom, on a page and on paper, and that no address leads to another's."""

import io
import re

import msgspec
import pytest
from pypdf import PdfReader

from qirsh.engine.keyring import Keyring
from qirsh.web.pay.receipt import receipt_token
from tests.live import ORIGIN, Call, InProcess, Live, World, refund, trial
from tests.visitor import Visitor


def paid(world: World, **fields: object) -> tuple[Visitor, str]:
    """Somebody who has paid a new payment, and the address of the receipt that they can show."""
    visitor = Visitor(world, world.payment(world.merchants[0], **fields)).signed_in(world.customer())
    assert visitor.confirm().status_code == 303
    visitor.open()
    [address] = re.findall(r'href="[^"]*(/receipt/[^"/]+)"', visitor.page)
    return visitor, address


def opened(world: World, address: str) -> Visitor:
    """A stranger at that address."""
    stranger = Visitor(world, "")
    answer = world.send(Call("GET", address))
    assert answer.status_code == 200, answer.text
    stranger.seen(answer)
    return stranger


def test_a_stranger_reads_what_was_paid_and_not_by_whom(world: Live) -> None:
    visitor, address = paid(world, amount=7550, note="Order 7", reference="ref-1", metadata={"a": "secret"})
    account = re.findall(r"Your account (\d{4}) (\d{4}) (\d{4})", visitor.text)[0]
    shown = opened(world, address)
    for words in ("Paid", "75.50 USD", "Shop", "Note from the shop Order 7", f"Account ending {account[2]}", "UTC"):
        assert words in shown.text
    assert " ".join(re.findall("....", visitor.payment_id)) in shown.text
    for private in ("".join(account), f"{account[0]} {account[1]}", "Person", "ref-1", "secret", "Sign out", "<form"):
        assert private not in shown.page
    assert world.send(Call("HEAD", address)).status_code == 200


def test_the_receipt_on_paper_says_the_same(world: Live) -> None:
    visitor, address = paid(world, amount=7550, note="Order 7")
    account = re.findall(r"Your account (\d{4}) (\d{4}) (\d{4})", visitor.text)[0]
    answer = world.send(Call("GET", f"{address}/pdf"))
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"] == f'attachment; filename="receipt-{visitor.payment_id}.pdf"'
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(answer.content)).pages)
    for words in ("75.50", "USD", "Shop", "Order 7", account[2]):
        assert words in text
    assert account[0] not in text
    assert world.send(Call("GET", f"{address}/pdf?lang=ar")).content != answer.content


def test_what_went_back_is_told_the_next_time(world: Live) -> None:
    visitor, address = paid(world, amount=7550)
    before = world.send(Call("GET", f"{address}/pdf")).content
    assert "Refunded" not in opened(world, address).text
    world.data(refund(world.merchants[0].key, visitor.payment_id, amount=2525))
    assert "Refunded 25.25 USD" in opened(world, address).text
    assert world.send(Call("GET", f"{address}/pdf")).content != before


def test_an_address_cannot_be_made_up_or_used_for_another_payment(still: InProcess) -> None:
    visitor, address = paid(still)
    other, _ = paid(still)
    token = address.rpartition("/")[2]
    payment_id, mark = token[:16], token[16:]
    assert payment_id == visitor.payment_id
    assert len(mark) == 32
    forged = [
        other.payment_id + mark,
        payment_id,
        payment_id + mark[:-1],
        payment_id + mark[:-1] + ("0" if mark[-1] != "0" else "1"),
        payment_id + mark + "0",
        payment_id + mark.upper() + "",
        payment_id + "0" * 32,
        payment_id[:-1] + mark,
        mark + payment_id,
        "é" * 48,
        "",
        payment_id + still.context.keyring.form_token("receipt", payment_id)[:32],
        payment_id + still.context.keyring.form_token("sign-out", payment_id)[:32],
    ]
    for one in forged:
        if one == token:  # A mark of digits alone has no large letters.
            continue
        for step in ("", "/pdf"):
            assert still.send(Call("GET", f"/receipt/{one}{step}")).status_code == 404, one
    assert still.send(Call("GET", address)).status_code == 200


def test_what_is_not_paid_has_no_receipt(still: InProcess) -> None:
    pending = still.payment(still.merchants[0])
    for step in ("", "/pdf"):
        assert still.send(Call("GET", f"/receipt/{receipt_token(still.context, pending)}{step}")).status_code == 404
    visitor = Visitor(still, pending)
    visitor.open()
    assert "/receipt/" not in visitor.page


def test_only_who_has_paid_is_given_the_address(world: Live) -> None:
    visitor, address = paid(world)
    for other in (Visitor(world, visitor.payment_id), Visitor(world, visitor.payment_id).signed_in(world.customer())):
        other.open()
        assert "/receipt/" not in other.page
        assert address not in other.page


def test_an_address_outlives_the_secret(still: InProcess) -> None:
    after = msgspec.structs.replace(still.context, keyring=Keyring([b"n" * 32], still.context.entropy))
    assert receipt_token(after, "1") == receipt_token(still.context, "1") != receipt_token(still.context, "2")


def test_a_shops_words_stay_its_words(world: Live, subtests: pytest.Subtests) -> None:
    for text in ("<script>alert(1)</script>", "{{7*7}} %(x)s", "\u200fDSU 00.1\u200e"):
        with subtests.test(text):
            _, address = paid(world, note=text)
            shown = opened(world, address)
            [note] = re.findall(r'<p dir="auto">(.*?)</p>', shown.page, re.DOTALL)
            assert not re.search(r"[<>\"']", note)
            assert text in shown.text
            assert world.send(Call("GET", f"{address}/pdf")).status_code == 200


def test_the_receipt_of_a_test_says_that_it_is_one(world: Live) -> None:
    merchant = world.merchants[0]
    test_id = world.payment(merchant._replace(key=merchant.test_key))
    world.data(trial(merchant.test_key, "pay", test_id))
    owner = Visitor(world, world.payment(merchant)).signed_in(merchant.email).elsewhere(test_id)
    owner.open()
    [address] = re.findall(r'href="[^"]*(/receipt/[^"/]+)"', owner.page)
    assert "Test payment. No money moves." in opened(world, address).text
    assert "Verified business" not in opened(world, address).text


def test_the_receipt_leads_back_to_the_shop_for_who_paid_only(world: Live) -> None:
    visitor, address = paid(world, returnUrl=f"{ORIGIN}/thanks")
    assert f'href="{ORIGIN}/thanks?' in visitor.page
    assert ORIGIN not in opened(world, address).page
