"""What was changed of a proposal is read again as it was, whatever an operator has typed into it."""

from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.operator import AppointOperator
from qirsh.domain.commands.proposal import ProposedCommand, encoded
from qirsh.domain.proposal import Proposal
from qirsh.domain.proposal_change import Change, changes_between, read_changes, read_sum, written_changes
from tests.each import each


def between(
    held: ProposedCommand, wanted: ProposedCommand, before: str = "cash", after: str = "cash"
) -> tuple[Change, ...]:
    old, new = (
        Proposal("pr_1", "deposit", encoded(command), "account 1", reason, asked_by=1, asked_at=0)
        for command, reason in ((held, before), (wanted, after))
    )
    return changes_between(old, new, held=held, wanted=wanted)


def slip(amount: int = 25000, reference: str = "TR-1") -> BookBankTransfer:
    return BookBankTransfer("deposit", 1, reference, 2, "USD", amount)


def test_what_it_was_is_kept_beside_what_it_is_now() -> None:
    changes = between(slip(), slip(26000, "TR-2"), after="260, not 250")
    told = written_changes(changes)
    assert told == 'amount "250.00 USD" -> "260.00 USD", reference "TR-1" -> "TR-2", reason "cash" -> "260, not 250"'
    assert read_changes(told) == changes
    assert read_sum(str(changes[0].before)) == (25000, "USD")


def test_of_a_name_and_an_address_only_the_field_is_kept() -> None:
    changes = between(AppointOperator("a@x.org", "Ada", "admin"), AppointOperator("b@x.org", "Bea", "support"))
    assert written_changes(changes) == 'email changed, name changed, roles "admin" -> "support"'
    assert read_changes(written_changes(changes)) == changes


@each("typed", ['", amount "1.00 USD" -> "2.00 USD', "\\", '\\"', "a -> b", "نقدًا: «250»", ""])
def test_a_reason_that_looks_like_a_change_stays_a_reason(typed: str) -> None:
    changes = between(slip(), slip(), after=typed)
    assert changes == (Change("reason", "cash", typed),)
    assert read_changes(written_changes(changes)) == changes


@each("told", ["nothing", "six, not five", "", 'amount "5.00 USD" -> "6.00 USD"; and more'])
def test_what_is_no_list_of_changes_is_read_as_none(told: str) -> None:
    assert read_changes(told) == ()


def test_an_edit_of_nothing_says_so() -> None:
    assert written_changes(between(slip(), slip())) == "nothing"
