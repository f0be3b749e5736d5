"""Somebody signed in at the pages of their wallet: a browser without a screen, which keeps its cookies."""

import html
import re
from typing import Any
from urllib.parse import urlencode

import httpx2

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.command import OpenSession
from qirsh.store.rows import LOGIN
from qirsh.web.customer.cookies import SESSION, set_cookie
from tests.live import Call, Customer, InProcess

FORM = "application/x-www-form-urlencoded"


class Purse:
    """A browser with a session."""

    def __init__(self, world: InProcess, who: Customer, language: str = "en") -> None:
        self.world = world
        self.who = who
        self.language = language
        self.person = world.run(_person(world, who))
        token = world.run(_session(world, who, self.person))
        _, line = set_cookie(world.parts, SESSION, token)
        self.cookies = dict([line.decode().partition(";")[0].split("=", 1)])
        self.page = ""

    def call(self, method: str, path: str, body: bytes | None = None, content_type: str = FORM) -> Call:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = [("cookie", cookies), ("accept-language", self.language)]
        if body is not None:
            headers.append(("content-type", content_type))
        return Call(method, path, None, body, tuple(headers))

    def seen(self, answer: httpx2.Response) -> httpx2.Response:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        if answer.headers["content-type"].startswith("text/"):
            self.page = answer.text
        return answer

    def get(self, path: str, **query: str) -> httpx2.Response:
        # `from` is a word of Python.
        named = {name.rstrip("_"): value for name, value in query.items()}
        return self.seen(self.world.send(self.call("GET", f"{path}?{urlencode(named)}" if named else path)))

    def read(self, path: str, **query: str) -> str:
        """What is read on a page that is there."""
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return self.text

    def posting(self, path: str, fields: dict[str, str]) -> Call:
        return self.call("POST", path, urlencode(fields).encode())

    def post(self, path: str, fields: dict[str, str]) -> httpx2.Response:
        return self.seen(self.world.send(self.posting(path, fields)))

    def form(self, action: str) -> dict[str, str]:
        """The hidden fields of a form on the page."""
        found = re.search(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', self.page, re.DOTALL)
        assert found, self.page
        return dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', found.group(1)))

    @property
    def text(self) -> str:
        without = re.sub(r"<(title|head|style)\b.*?</\1>|<[^>]*>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(without).split())


async def _person(world: InProcess, who: Customer) -> int:
    login = await world.parts.store.find(LOGIN, who.email)
    assert login is not None
    return login.person


async def _session(world: InProcess, who: Customer, person: int) -> str:
    token = make_token(PAGE_SESSION_KIND, world.parts.entropy(32))
    command = OpenSession(
        hash=token_hash(token.encode()), person=person, account=int(who.account), actor="test", email=who.email
    )
    session: Any = await world.parts.engine.submit(command)
    assert session.person == person, session
    return token
