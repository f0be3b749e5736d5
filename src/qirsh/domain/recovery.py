"""Recoveries: who was let in again from the machine itself, when nobody could sign in any more."""

import msgspec


class Recovery(msgspec.Struct, frozen=True):
    """One of them. Every page of the console tells of it until an admin has read it."""

    id: str
    person: int
    roles: str  # That they had before: by it they are an admin.
    done_by: str  # Whose program did it, as the operating system knows them.
    at: int
    read_by: int | None = None
    read_at: int | None = None
