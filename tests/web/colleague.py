"""People who work at a business, or are invited to: made by the rules, for tests that are not about how."""

import secrets

from qirsh.domain.commands.staff import AcceptInvitation, InviteMember
from qirsh.domain.refusal import Refused
from qirsh.domain.staff import Role
from qirsh.domain.tables import Tables
from tests.live import InProcess, Merchant


def new_invitation(world: InProcess, merchant: Merchant, email: str = "", role: Role = "viewer") -> str:
    """Its id. Those that are open make room for it."""
    account = int(merchant.account)
    found = world.run(world.context.store.find(Tables.accounts, account))
    assert found is not None
    assert found.owner is not None
    with world.books() as books:
        stale = tuple(str(row[0]) for row in books.select("SELECT id FROM invitation WHERE account = ?", account))
    invitation = f"inv_{secrets.token_hex(16)}"
    outcome = world.run(
        world.context.engine.submit(
            InviteMember(
                id=invitation,
                account=account,
                email=email or f"{invitation}@example.org",
                role=role,
                caps={},
                member=found.owner,
                stale=stale,
            )
        )
    )
    assert type(outcome) is not Refused, outcome
    return invitation


def a_member(world: InProcess, merchant: Merchant) -> str:
    """By the number that pages name them with: who works there already, or somebody new."""
    with world.books() as books:
        known = books.select("SELECT person FROM member WHERE account = ?", int(merchant.account))
    if known:
        return str(known[0][0])
    email = world.person(verified=False).email
    login = world.run(world.context.store.find(Tables.logins, email))
    assert login is not None
    command = AcceptInvitation(new_invitation(world, merchant, email), login.person)
    outcome = world.run(world.context.engine.submit(command))
    assert type(outcome) is not Refused, outcome
    return str(login.person)
