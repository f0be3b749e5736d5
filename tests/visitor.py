"""A browser without a screen: it keeps its cookies, and posts the forms of the last page that it was shown."""

import html
import re
from typing import Any, Self
from urllib.parse import urlencode

import httpx2
import msgspec

from qirsh.domain.account import Account
from qirsh.domain.state import Needs, State
from tests.live import PASSWORD, PIN, Call, Customer, InProcess, World

FORM = "application/x-www-form-urlencoded"


class Visitor:
    """Somebody with a link to a payment."""

    def __init__(self, world: World, payment_id: str) -> None:
        self.world = world
        self.payment_id = payment_id
        self.cookies: dict[str, str] = {}
        self.page = ""

    def call(self, method: str, step: str = "", body: bytes | None = None, **headers: str) -> Call:
        """The request as this browser sends it. Underscores in the names of headers stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            named.setdefault("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        path = f"/pay/{self.payment_id}{f'/{step}' if step else ''}"
        return Call(method, path, None, body, tuple(named.items()))

    def seen(self, answer: httpx2.Response) -> httpx2.Response:
        """What an answer leaves behind."""
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        self.page = answer.text
        return answer

    def open(self, step: str = "", **headers: str) -> httpx2.Response:
        return self.seen(self.world.send(self.call("GET", step, None, **headers)))

    def posting(self, step: str, fields: dict[str, str] | bytes, **headers: str) -> Call:
        """A form, ready to be sent."""
        content = fields if isinstance(fields, bytes) else urlencode(fields).encode()
        headers.setdefault("content_type", FORM)
        return self.call("POST", step, content, **headers)

    def post(self, step: str, fields: dict[str, str] | bytes, **headers: str) -> httpx2.Response:
        return self.seen(self.world.send(self.posting(step, fields, **headers)))

    def form(self, step: str) -> dict[str, str]:
        """The hidden fields of a form on the page."""
        found = re.search(rf'action="/pay/\d+/{step}">(.*?)</form>', self.page, re.DOTALL)
        assert found, self.page
        return dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', found.group(1)))

    def signed_in(self, who: Customer | str) -> Self:
        """On the page where the PIN is asked for, or whatever comes instead."""
        email = who if isinstance(who, str) else who.email
        self.open()
        answer = self.post("sign-in", {**self.form("sign-in"), "email": email, "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        self.open()
        return self

    def confirm(self, pin: str = PIN, **changes: str) -> httpx2.Response:
        return self.post("confirm", {**self.form("confirm"), "pin": pin, **changes})

    def has_paid(self) -> bool:
        """Whether the page is the receipt now."""
        self.open()
        return "You can close this page." in self.text

    def elsewhere(self, payment_id: str) -> "Visitor":
        """The same browser at another payment."""
        other = Visitor(self.world, payment_id)
        other.cookies = self.cookies
        return other

    @property
    def text(self) -> str:
        """What is read on the page, on one line."""
        without = re.sub(r"<(title|head|style)\b.*?</\1>|<[^>]*>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(without).split())


class Altered:
    """An account that is not as it was, by no rule: what no command does yet, or what happens to others."""

    def __init__(self, number: int, changes: dict[str, Any]) -> None:
        self._number = number
        self._changes = changes

    def __len__(self) -> int:
        return 1

    def facts(self) -> Needs:
        return Needs()

    def rows(self, _state: State) -> Needs:
        needs = Needs()
        needs.accounts.add(self._number)
        return needs

    def decide(self, state: State) -> None:
        account = state.accounts.get(self._number)
        assert account is not None
        changed: Account = msgspec.structs.replace(account, **self._changes)
        state.accounts.change(self._number, changed)


def alter(world: InProcess, account: str, **changes: object) -> None:
    """Whatever is written there."""
    world.run(world.parts.store.transact(Altered(int(account), changes)))
