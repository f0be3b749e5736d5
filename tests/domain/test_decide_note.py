"""Operators write notes about people, businesses and payments: who may, about what, and how they go."""

from typing import Any

from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.note import ForgetNotes
from qirsh.domain.refusal import Refusal
from tests.domain.market import NOBODY, Market
from tests.domain.note_cases import NOTES, SEALED, noting
from tests.domain.staff_cases import join
from tests.each import each


def test_a_note_is_written_once_and_the_audit_log_tells_of_it_without_its_text() -> None:
    market = Market()
    first = market.do(noting(market))
    assert market.do(noting(market, text_sealed=b"another")) == first
    assert (first.subject, first.person, first.text_sealed) == (f"account {market.shop}", market.first.id, SEALED)
    assert list(market.notes) == [NOTES[0]]
    told = [(entry.subject, entry.detail) for entry in market.audit if entry.action == "note.added"]
    assert told == [(f"account {market.shop}", NOTES[0])]


def test_an_id_that_is_taken_by_a_note_about_something_else_is_not_found() -> None:
    market = Market()
    market.do(noting(market))
    about_another = noting(market, about="person", number=market.customer.id)
    assert market.refuse(about_another).why is Refusal.NOT_FOUND
    assert market.refuse(noting(market, operator=market.second.id)).why is Refusal.NOT_FOUND


@each(
    "about",
    [("account", "till"), ("account", "house"), ("account", "nobody"), ("payment", "nobody"), ("person", "nobody")],
)
def test_what_is_no_person_business_or_payment_has_no_notes(about: tuple[str, str]) -> None:
    market = Market()
    kind, name = about
    number = NOBODY if name == "nobody" else getattr(market, name)
    assert market.refuse(noting(market, about=kind, number=number)).why is Refusal.NOT_FOUND


def test_notes_about_a_personal_account_are_about_its_owner() -> None:
    market = Market()
    assert market.refuse(noting(market, number=market.customer.account)).why is Refusal.NOT_FOUND
    assert (
        market.do(noting(market, about="person", number=market.customer.id)).subject == f"person {market.customer.id}"
    )


def test_nobody_writes_about_themselves_their_shop_or_its_payments() -> None:
    market = Market()
    payment = market.create().number
    join(market, market.first, "viewer")
    own: list[dict[str, Any]] = [
        {"about": "person", "number": market.first.id},
        {"about": "account", "number": market.shop},
        {"about": "payment", "number": payment},
    ]
    for fields in own:
        assert market.refuse(noting(market, **fields)).why is Refusal.OWN_REQUEST
        if fields["about"] != "person":
            market.do(noting(market, id=f"note_{fields['about']}", operator=market.second.id, **fields))


def test_what_was_written_about_a_person_goes_with_them_and_nothing_else_does() -> None:
    market = Market()
    person = market.join("Newcomer")
    market.do(noting(market, about="person", number=person.id))
    market.do(noting(market, id=NOTES[1], about="person", number=market.customer.id))
    market.do(noting(market, id=NOTES[2], about="person", number=person.id))
    # The last one was written after they were looked for.
    market.do(ErasePerson(person.id, person.account, "newcomer@example.com", (), (), "test", notes=NOTES[:2]))
    assert [note.text_sealed for note in market.notes.values()] == [b"", SEALED, SEALED]
    assert market.do(ForgetNotes(person.id, NOTES)) == 1
    assert [note.text_sealed for note in market.notes.values()] == [b"", SEALED, b""]
    assert market.do(ForgetNotes(person.id, NOTES)) == 0
    assert market.refuse(noting(market, id="note_late", about="person", number=person.id)).why is Refusal.NOT_FOUND


def test_notes_about_who_is_still_there_are_not_forgotten() -> None:
    market = Market()
    market.do(noting(market, about="person", number=market.customer.id))
    assert market.refuse(ForgetNotes(market.customer.id, NOTES)).why is Refusal.MOVE_NOT_ALLOWED
    assert market.notes[NOTES[0]].text_sealed == SEALED
