"""Commands about messages between operators and the owner of a business."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.shop_message import ShopMessage


class WriteToShop(Command[ShopMessage], frozen=True):
    """An operator writes to the owner of a business or of a request for one. The outcome is the message."""

    id: str
    account: int
    text: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()  # For the owner, without what it says.


class WriteToOperators(Command[ShopMessage], frozen=True):
    """The owner of a business answers. The outcome is the message."""

    id: str
    account: int
    text: str
    member: int


class ReadShopMessages(Command[int], frozen=True):
    """One side has seen what the other wrote. The outcome is how many of these were new to it."""

    account: int
    ids: tuple[str, ...]
    member: int | None = None  # The owner; None: an operator.
    operator: int | None = None
