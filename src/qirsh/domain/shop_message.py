"""Messages between operators and the owner of a business, about a request or the business itself."""

from typing import Literal

import msgspec

Author = Literal["operator", "owner"]


class ShopMessage(msgspec.Struct, frozen=True):
    """One of a thread. What was written stays as it was."""

    id: str
    account: int  # The live one.
    author: Author
    person: int  # Who wrote it.
    text: str
    at: int
    read_at: int | None = None  # By the other side.
