"""Somebody with a link to a payment: the browser of `tests.guest`, on the pages of that payment."""

from typing import Self

import httpx2

from tests.guest import Guest
from tests.live import PASSWORD, PIN, Customer, World


class Visitor(Guest):
    """Paths that do not begin with a slash are steps of the payment."""

    def __init__(self, world: World, payment_id: str) -> None:
        super().__init__(world)
        self.payment_id = payment_id

    def address(self, path: str) -> str:
        if path.startswith("/"):
            return path
        return f"/pay/{self.payment_id}{f'/{path}' if path else ''}"

    def signed_in(self, who: Customer | str) -> Self:
        """On the page where the PIN is asked for, or whatever comes instead."""
        self.email = who if isinstance(who, str) else who.email
        self.open()
        answer = self.post("sign-in", email=self.email, password=PASSWORD)
        assert answer.status_code == 303, answer.text
        self.open()
        return self

    def confirm(self, pin: str = PIN, **changes: str) -> httpx2.Response:
        return self.post("confirm", pin=pin, **changes)

    def has_paid(self) -> bool:
        """Whether the page is the receipt now."""
        self.open()
        return "You can close this page." in self.text

    def elsewhere(self, payment_id: str) -> "Visitor":
        """The same browser at another payment."""
        other = Visitor(self.world, payment_id)
        other.cookies = self.cookies
        return other
