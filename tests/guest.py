"""A browser without a screen on any page: it keeps its cookies, and fills in the forms that it is shown."""

import html
import re
from typing import Any
from urllib.parse import urlencode

import httpx2

from qirsh.engine.envelope import Envelope, opened
from qirsh.store import queries
from tests.live import PASSWORD, Call, InProcess

FORM = "application/x-www-form-urlencoded"


class Guest:
    """Somebody at the door."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self.cookies: dict[str, str] = {}
        self.page = ""

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Call:
        """The request as this browser sends it."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            named.setdefault("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
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

    def open(self, path: str, **headers: str) -> httpx2.Response:
        return self.seen(self.world.send(self.call("GET", path, None, **headers)))

    def hidden(self, action: str) -> dict[str, str]:
        """The hidden fields of the form that posts there."""
        found = re.search(rf'action="{re.escape(action)}">(.*?)</form>', self.page, re.DOTALL)
        assert found, self.page
        fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found.group(1))
        return {name: html.unescape(value) for name, value in fields}

    def posting(self, action: str, **typed: str) -> Call:
        """The form on the page, filled in and ready to be sent."""
        body = urlencode({**self.hidden(action), **typed}).encode()
        return self.call("POST", action, body, content_type=FORM)

    def post(self, action: str, **typed: str) -> httpx2.Response:
        return self.seen(self.world.send(self.posting(action, **typed)))

    def follow(self, answer: httpx2.Response) -> httpx2.Response:
        """Where a redirect leads."""
        assert answer.status_code == 303, answer.text
        return self.open(answer.headers["location"])

    def sign_in(self, email: str, password: str = PASSWORD, **typed: str) -> httpx2.Response:
        self.open("/sign-in")
        return self.post("/sign-in", email=email, password=password, **typed)

    def is_signed_in(self) -> bool:
        """By the door, which leads in."""
        return bool(self.open("/").headers["location"] == "/wallet")

    @property
    def text(self) -> str:
        """What is read on the page, on one line."""
        without = re.sub(r"<(title|head|style)\b.*?</\1>|<[^>]*>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(without).split())

    @property
    def wrong(self) -> dict[str, str]:
        """What stands beside each field that was not right."""
        return dict(re.findall(r'id="(\w+)-wrong" role="alert">([^<]*)<', html.unescape(self.page)))


def mails_to(world: InProcess, address: str) -> list[Envelope]:
    """All that wait for this address, the oldest first."""
    rows = world.run(world.parts.store.search(queries.LAST_MAIL, 1000))
    found = [(at, opened(world.parts.keyring, sealed)) for _, sealed, at in rows]
    return [one for _, one in sorted(found, key=lambda pair: pair[0]) if one is not None and one.to == address]


def last_mail(world: InProcess, address: str) -> Envelope:
    return mails_to(world, address)[-1]


def word_of(mail: Envelope, name: str) -> str:
    word: Any = mail.words[name]
    return str(word)


def link_of(world: InProcess, mail: Envelope) -> str:
    """The path of the link in it, which is on our own address."""
    url = word_of(mail, "url")
    assert url.startswith(f"{world.parts.base_url}/")
    return url.removeprefix(world.parts.base_url)
