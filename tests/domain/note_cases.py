"""What operators write down and look at, and every way to refuse it. `test_decide_precedence` goes through them."""

from typing import Any, Final

from hypothesis import strategies as st

from qirsh.domain.command import Command
from qirsh.domain.commands.audit_log import RecordAccountLook
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.note import AddNote, ForgetNotes
from qirsh.domain.refusal import Refusal
from tests.domain.market import NOBODY, Market

R = Refusal
SEALED: Final = b"\x00\xffsealed"
NOTES: Final = ("note_1", "note_2", "note_3")


def noting(market: Market, **changes: Any) -> AddNote:  # noqa: ANN401 - the fields of the command
    """An operator writes something down about a shop."""
    fields: dict[str, Any] = {
        "id": NOTES[0],
        "about": "account",
        "number": market.shop,
        "text_sealed": SEALED,
        "operator": market.first.id,
        "actor": "test",
    }
    return AddNote(**fields | changes)


def _forget_notes(market: Market) -> Command[Any]:
    person = market.join("Newcomer")
    market.do(noting(market, about="person", number=person.id))
    market.do(ErasePerson(person.id, person.account, "newcomer@example.com", (), (), "test"))
    return ForgetNotes(person.id, NOTES)


NOTE_CASES: Final[dict[Any, Any]] = {
    AddNote: (
        noting,
        {
            R.OWN_REQUEST: lambda case: case.account(case.market.shop, owner=case.market.first.id),
            R.NOT_FOUND: lambda case: case.ask(number=NOBODY),
        },
    ),
    ForgetNotes: (_forget_notes, {R.MOVE_NOT_ALLOWED: lambda case: case.ask(person=case.market.customer.id)}),
    RecordAccountLook: (lambda market: RecordAccountLook(market.shop, "test", market.first.id), {}),
}


def about_notes(market: Market) -> list[st.SearchStrategy[Any]]:
    """Each is drawn as often as the others. People who may have gone are among those who are written about."""
    people = st.sampled_from([market.customer.id, *range(market.owner.id + 1, len(market.people) + 2)])
    operators = st.sampled_from([market.first.id, market.second.id, market.owner.id])
    accounts = st.sampled_from([market.shop, market.shop, market.till, market.customer.account, market.house, NOBODY])
    about = st.one_of(
        st.tuples(st.just("account"), accounts),
        st.tuples(st.just("payment"), st.sampled_from([1, 2, 5, NOBODY])),
        st.tuples(st.just("person"), people),
    )
    return [
        st.builds(
            lambda name, what, operator: noting(market, id=name, about=what[0], number=what[1], operator=operator),
            st.sampled_from(NOTES),
            about,
            operators,
        ),
        st.builds(ForgetNotes, people, st.just(NOTES)),
        st.builds(lambda operator: RecordAccountLook(market.shop, "test", operator), operators),
    ]
