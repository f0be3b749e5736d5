"""An operator's browser at the console."""

import re
from typing import Self

import httpx2
import pyotp

from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Operator
from tests.operators import LONG_AGO_MS, appointed


class ConsoleGuest(Guest):
    """Who fills in the forms of the console."""

    world: InProcess
    totp_secret: str = ""

    def code(self) -> str:
        """A code that was not used yet: a half minute later than the last one."""
        self.world.clock.advance(30_000)
        return pyotp.TOTP(self.totp_secret).at(self.world.now_ms() // 1000)

    def sign_in_to_console(self, operator: Operator, password: str = PASSWORD) -> httpx2.Response:
        """By the form."""
        self.email, self.totp_secret = operator.email, operator.totp_secret
        self.open("/operator/sign-in")
        return self.post("/operator/sign-in", email=operator.email, password=password, code=self.code())

    def at_console(self, operator: Operator) -> Self:
        """By the form, which must let them in."""
        answer = self.sign_in_to_console(operator)
        assert (answer.status_code, answer.headers.get("location")) == (303, "/operator"), answer.text
        self.follow(answer)
        return self

    def confirm(self, proposal: str) -> httpx2.Response:
        """What another operator asked for."""
        path = f"/operator/proposals/{proposal}"
        assert self.open(path).status_code == 200, self.page
        return self.post(f"{path}/confirm", code=self.code())

    def proposal(self, answer: httpx2.Response) -> str:
        """Which one a form has made."""
        found = re.fullmatch(r"/operator/proposals/(pr_[0-9a-f]+)", answer.headers.get("location", ""))
        assert found, (answer.status_code, answer.text)
        return found.group(1)


def console(world: InProcess, operator: int = 0) -> ConsoleGuest:
    """The browser of one of the operators, signed in."""
    return ConsoleGuest(world).at_console(world.operators[operator])


def operator_with(world: InProcess, roles: str, name: str = "Operator") -> int:
    """Another operator, in these roles only, who was appointed long ago: days pass, so sign others in afterwards."""
    email = f"{roles.replace(' ', '-')}@bank.example"
    known = [number for number, operator in enumerate(world.operators) if operator.email == email]
    if known:  # By a test before, in the same world.
        return known[0]
    with world.books() as books:
        (first,), (second,) = books.select("SELECT person FROM operator ORDER BY person LIMIT 2")
    _, secret = world.run(appointed(world.context, email, PASSWORD, by=first, agrees=second, roles=roles, name=name))
    world.operators.append(Operator(email, secret))
    world.clock.advance(LONG_AGO_MS)
    return len(world.operators) - 1
