"""Operators find things by what they know of them, and write down what others should know."""

from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.limits import HITS_OF_KIND_MAX
from tests.domain.request_cases import logged
from tests.live import ORIGIN, PASSWORD, PIN, InProcess, Merchant, in_process, pay, refund
from tests.postgres import PostgresServer
from tests.web.operator.console import operator_with
from tests.web.tenant import login_of


@pytest.fixture(scope="module")
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2) as held:
        yield held
        assert held.violations() == []


@pytest.fixture(scope="module")
def shop(world: InProcess) -> Merchant:
    return world.merchants[0]


def find(world: InProcess, words: str, operator: int = 0) -> list[tuple[str, str]]:
    """What is found, and where it leads."""
    return [(hit["kind"], hit["page"]) for hit in world.act("search", operator, words=words)["hits"]]


def add(world: InProcess, name: str) -> dict[str, Any]:
    email = f"{abs(hash(name))}@home.example"
    return world.act("person add", email=email, name=name, password=PASSWORD, pin=PIN)


@pytest.mark.both_engines
def test_numbers_lead_to_what_they_are_of_however_they_are_typed(world: InProcess, shop: Merchant) -> None:
    payment, person = world.payment(shop), login_of(world, world.customers[0].email).person
    page = f"/operator/accounts/{shop.account}"
    assert find(world, shop.account) == [("account", page)]
    assert find(world, f" {shop.account[:4]} {shop.account[4:8]}-{shop.account[8:]} ") == [("account", page)]
    assert find(world, shop.account.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))) == [("account", page)]
    assert find(world, world.customers[0].account) == [("person", f"/operator/people/{person}")]
    assert find(world, f"person {person}") == [("person", f"/operator/people/{person}")]
    assert find(world, payment) == [("payment", f"/operator/payments/{payment}")]
    wrong = str(int(shop.account[-1]) ^ 1)
    assert find(world, shop.account[:-1] + wrong) == []


def test_a_test_account_leads_to_its_business(world: InProcess, shop: Merchant) -> None:
    assert find(world, shop.test_account) == [("account", f"/operator/accounts/{shop.account}")]


@pytest.mark.both_engines
def test_ids_lead_to_the_payment_or_account_that_they_belong_to(world: InProcess, shop: Merchant) -> None:
    payment = world.payment(shop)
    world.data(pay(world.customers[0], payment))
    refunded = world.data(refund(shop.key, payment, amount=1))["id"]
    with world.books() as books:
        [(account, sequence, epoch)] = books.select(
            "SELECT account, sequence, epoch FROM event WHERE type = 'refund.created' ORDER BY sequence DESC LIMIT 1"
        )
    page = f"/operator/payments/{payment}"
    assert find(world, refunded) == [("refund", page)]
    assert find(world, f"evt_{epoch}_{account}_{sequence}") == [("event", page)]
    assert find(world, shop.key_id) == [("key", f"/operator/accounts/{shop.account}")]
    customer = world.customers[1]
    person = login_of(world, customer.email).person
    macs = world.context.keyring.pin_macs(person, PIN)
    asked = RequestPayout("po_5ea4c4", int(customer.account), person, "USD", 700, b"sealed", macs)
    world.run(world.context.engine.submit(asked))
    assert find(world, "po_5ea4c4") == [("payout", "/operator/payouts/po_5ea4c4")]
    support = operator_with(world, "support auditor")
    assert find(world, "po_5ea4c4", support) == [("payout", f"/operator/people/{person}")]
    assert find(world, f"evt_{epoch}_{account}_999999") == []
    assert find(world, "rf_" + "0" * 24) == []


def test_a_logged_request_leads_to_the_payment_that_it_named_or_to_its_account(
    world: InProcess, shop: Merchant
) -> None:
    payment = world.payment(shop)
    about, other = (
        logged(f"req_{end}", account=int(shop.account), payment=number)
        for end, number in (("a1", world.context.identifiers.payment_number(payment)), ("a2", None))
    )
    world.run(world.context.engine.submit(RecordRequests((about, other), ())))
    assert find(world, "req_a1") == [("request", f"/operator/payments/{payment}")]
    assert find(world, "req_a2") == [("request", f"/operator/accounts/{shop.account}")]


@pytest.mark.both_engines
def test_the_bank_s_reference_leads_to_what_was_booked_or_for_others_to_whose_money_it_was(world: InProcess) -> None:
    customer = world.customers[0]
    person = login_of(world, customer.email).person
    slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "5.00", "reference": "FT 26/0042"}
    done = world.agree("deposit ask", **slip)
    auditor, compliance = operator_with(world, "auditor"), operator_with(world, "compliance")
    for operator in (0, auditor):
        assert find(world, "FT 26/0042", operator) == [("deposit", f"/operator/proposals/{done['id']}")]
    assert find(world, "FT 26/0042", compliance) == [("deposit", f"/operator/people/{person}")]
    assert find(world, "FT 26/0043") == []


def test_an_address_finds_its_person_only_for_who_may_see_it(world: InProcess) -> None:
    email = world.customers[0].email
    person = login_of(world, email).person
    treasury, support = operator_with(world, "treasury"), operator_with(world, "support")
    assert find(world, email.upper(), support) == [("person", f"/operator/people/{person}")]
    assert find(world, email, treasury) == []
    assert find(world, email.partition("@")[0] + "@", support) == []


@pytest.mark.both_engines
def test_beginnings_of_words_of_a_name_find_people_and_businesses(world: InProcess, shop: Merchant) -> None:
    account = add(world, "Şükran Çelik-Doğan")["account"]
    [hit] = world.act("search", words="celik SUK")["hits"]
    assert (hit["kind"], hit["id"], hit["name"]) == ("person", account, "Şükran Çelik-Doğan")
    assert find(world, "ükran") == []
    assert find(world, "sukran celik x") == []
    asked = world.act("account request", account=shop.personal, name="Quince Grocery", returnOrigins=ORIGIN)
    assert find(world, "quin gro") == [("account", f"/operator/accounts/{asked['account']}")]


def test_more_than_fit_are_said_to_be_more_and_more_words_find_the_one(world: InProcess) -> None:
    for number in range(HITS_OF_KIND_MAX + 1):
        add(world, f"Zeynep Numara{number:02}")
    found = world.act("search", words="zey")
    assert (len(found["hits"]), found["more"]) == (HITS_OF_KIND_MAX, True)
    found = world.act("search", words="zey numara07")
    assert ([hit["name"] for hit in found["hits"]], found["more"]) == (["Zeynep Numara07"], False)


def test_texts_of_payments_are_never_searched(world: InProcess, shop: Merchant) -> None:
    world.payment(shop, note="Quincunx", reference="Quincunx", metadata={"about": "Quincunx"})
    assert find(world, "Quincunx") == []


def test_nonsense_finds_nothing(world: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["\u0000", "x" * 201, "%", "_", "'; --", "key_\u202e", "\U0010ffff"]
    for words in cases:
        with subtests.test(words=words):
            reply = world.run(world.tried("search", {"words": words}))
            assert reply.code == "invalid" or (reply.done is not None and reply.done["hits"] == [])


def test_a_note_is_read_by_operators_and_kept_so_that_nobody_else_can(world: InProcess, shop: Merchant) -> None:
    world.act("note add", about="account", id=shop.account, text="Calls often.\nKeep an eye on it: söz")
    [note] = world.act("note list", about="account", id=shop.account)["notes"]
    assert note["text"] == "Calls often.\nKeep an eye on it: söz"
    with world.books() as books:
        rows = books.select("SELECT text_sealed FROM note")
        entries = books.select("SELECT detail FROM audit WHERE action = 'note.added'")
    assert not any(b"often" in bytes(sealed) for (sealed,) in rows)
    assert not any("often" in detail for (detail,) in entries)


def test_notes_about_a_personal_account_are_those_about_its_owner(world: InProcess) -> None:
    customer = world.customers[0]
    world.act("note add", about="account", id=customer.account, text="Moved house")
    person = str(login_of(world, customer.email).person)
    assert [note["text"] for note in world.act("note list", about="person", id=person)["notes"]] == ["Moved house"]


def test_what_is_wrong_with_a_note_is_told_by_field(world: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"about": "account", "id": "1", "text": "x"}, "id"),
        ({"about": "payment", "id": "1234567890123456", "text": "x"}, "id"),
        ({"about": "person", "id": "one", "text": "x"}, "id"),
        ({"about": "colour", "id": "1", "text": "x"}, "about"),
        ({"about": "person", "id": "1", "text": " \n "}, "text"),
        ({"about": "person", "id": "1", "text": "x" * 2001}, "text"),
    ]
    for words, field in cases:
        with subtests.test(words=words, field=field):
            reply = world.run(world.tried("note add", words))
            assert (reply.code, reply.detail.partition(":")[0]) == ("invalid", field)


def test_why_a_key_was_revoked_is_in_the_audit_log(world: InProcess, shop: Merchant) -> None:
    issued = world.act("key issue", account=shop.account)
    world.act("key revoke", id=issued["id"], reason="it was in a repository")
    with world.books() as books:
        rows = books.select(f"SELECT detail FROM audit WHERE action = 'key.revoked' AND subject = 'key {issued['id']}'")  # noqa: S608 - our own
    assert rows == [(f"account {shop.account}: it was in a repository",)]
