"""Who works where, and who was asked to, as SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.staff import Invitation, Member, MemberCap, Role
from qirsh.store.interface import Query, Store

_MEMBER: Final = ", ".join(f"m.{column}" for column in Member.__struct_fields__)
_INVITATION: Final = ", ".join(Invitation.__struct_fields__)
_MEMBERS: Final = Query(
    f"SELECT {_MEMBER}, p.name, coalesce(l.email, ''), CASE WHEN l.totp_sealed IS NULL THEN 0 ELSE 1 END"
    " FROM member m JOIN person p ON p.id = m.person LEFT JOIN login l ON l.person = m.person"
    " WHERE m.account = $1 ORDER BY m.created_at, m.person LIMIT $2"
)
_CAPS: Final = Query(
    f"SELECT {', '.join(MemberCap.__struct_fields__)} FROM member_cap WHERE account = $1 ORDER BY person, currency"
)
_INVITATIONS_OF: Final = Query(
    f"SELECT {_INVITATION} FROM invitation WHERE account = $1 ORDER BY created_at, id LIMIT $2"
)
_INVITATIONS_TO: Final = Query(
    f"SELECT {_INVITATION} FROM invitation WHERE email = $1 AND expires_at > $2 ORDER BY created_at, id LIMIT $3"
)
_JOBS_OF: Final = Query(
    "SELECT a.number, a.name, a.state, m.role FROM member m JOIN account a ON a.number = m.account"
    " WHERE m.person = $1 ORDER BY m.created_at DESC, a.number LIMIT $2"
)
_LISTED_MAX: Final = 200  # More than anybody can have.


class NamedMember(msgspec.Struct, frozen=True):
    """A member, and who it is. An erased person has neither name nor address."""

    member: Member
    name: str
    email: str
    has_factor: bool
    caps: tuple[MemberCap, ...]


class Job(msgspec.Struct, frozen=True):
    """Where a person works."""

    account: int
    name: str
    state: str
    role: Role


async def members_of(store: Store, account: int) -> list[NamedMember]:
    """All who work at a business, without its owner, in the order in which they came."""
    rows = await store.select(_MEMBERS, account, _LISTED_MAX)
    caps = [MemberCap(*row) for row in await store.select(_CAPS, account)]
    return [
        NamedMember(
            member=Member(*row[:-3]),
            name=row[-3],
            email=row[-2],
            has_factor=bool(row[-1]),
            caps=tuple(cap for cap in caps if cap.person == row[1]),
        )
        for row in rows
    ]


async def invitations_of(store: Store, account: int) -> list[Invitation]:
    """Those of a business that nobody has answered, also when they are over."""
    return [Invitation(*row) for row in await store.select(_INVITATIONS_OF, account, _LISTED_MAX)]


async def invitations_to(store: Store, email: str, now: int) -> list[Invitation]:
    """Those that were mailed to an address, and can be answered."""
    return [Invitation(*row) for row in await store.select(_INVITATIONS_TO, email, now, _LISTED_MAX)]


async def jobs_of(store: Store, person: int) -> list[Job]:
    """The businesses at which a person works, without their own."""
    return [Job(*row) for row in await store.select(_JOBS_OF, person, _LISTED_MAX)]
