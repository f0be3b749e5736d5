"""Mail that waits to be sent. It is written in the commit of what it tells, and gone when it is sent."""

import msgspec


class Letter(msgspec.Struct, frozen=True):
    """What a command wants to have sent once it is carried out. To whom and what it says is encrypted."""

    id: str
    sealed: bytes
    is_urgent: bool = False  # Somebody waits for it, to enter its code or open its link.


class Mail(msgspec.Struct, frozen=True):
    """A letter on its way."""

    id: str
    sealed: bytes
    created_at: int
    due_at: int
    attempts: int
    is_urgent: bool = False
