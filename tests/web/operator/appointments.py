"""How somebody becomes an operator, step by step: asked for, agreed to, and begun behind the link."""

import re
from typing import Any, Final

import pyotp

from qirsh.domain.tables import Tables
from tests.guest import Guest
from tests.live import InProcess
from tests.mailbox import last_mail, link_of

NEW: Final = "hala@bank.example"
THEIRS: Final = "seven green lamps at noon"
FIRST, SECOND = "first@bank.example", "second@bank.example"


def code(world: InProcess, act: str, operator: int = 0, **words: object) -> str:
    """Of the refusal; empty for an act that was done."""
    reply = world.run(world.tried(act, words, operator))
    return reply.code


def ask(world: InProcess, operator: int = 0, email: str = NEW) -> dict[str, Any]:
    return world.act("operator create", operator, email=email, name="Hala Aydın", reason="more hands")


def confirm(world: InProcess, asked: dict[str, Any], operator: int = 1) -> dict[str, Any]:
    return world.act("proposal confirm", operator, id=asked["id"], digest=asked["digest"])


def refusal(world: InProcess, asked: dict[str, Any], operator: int) -> str:
    """Why one may not confirm it."""
    return code(world, "proposal confirm", operator, id=asked["id"], digest=asked["digest"])


def appoint(world: InProcess, email: str = NEW) -> None:
    """Both of the two want somebody, who gets a link."""
    assert confirm(world, ask(world, email=email))["state"] == "done"


def proposal_of(world: InProcess, email: str) -> str:
    appointment = world.run(world.context.store.find(Tables.appointments, email))
    assert appointment is not None
    return appointment.proposal


def link(world: InProcess, email: str = NEW) -> str:
    return link_of(world, last_mail(world, email))


def seed_on(guest: Guest) -> str:
    found = re.search(r"secret=([A-Z2-7]+)", guest.page)
    assert found, guest.page
    return found.group(1)


def now(world: InProcess, seed: str) -> str:
    return pyotp.TOTP(seed).at(world.now_ms() // 1000)


def begin(world: InProcess, email: str = NEW, password: str = THEIRS) -> str:
    """The new one opens the link, and sets what only they know; their second factor."""
    guest, path = Guest(world), link(world, email)
    assert guest.open(path).status_code == 200
    seed = seed_on(guest)
    answer = guest.post(path, password=password, code=now(world, seed))
    guest.follow(answer)
    assert "You are now an operator" in guest.text
    return seed
