"""Commands about views of payments that the staff of a business saves."""

from qirsh.domain.command import Command
from qirsh.domain.saved_view import SavedView


class SaveView(Command[SavedView], frozen=True):
    """Somebody of the staff wants to find these payments again. The outcome is the saved view."""

    account: int  # Live or test.
    id: str
    name: str
    query: str
    member: int


class RemoveView(Command[SavedView], frozen=True):
    """They do not need it any more. The outcome is the saved view as it was."""

    account: int
    id: str
    member: int
