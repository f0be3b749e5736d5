"""A browser without a screen and without scripts: it keeps its cookies, and fills in the forms that it is shown."""

import html
import re
from typing import Any, Final, Self
from urllib.parse import urlencode

import httpx2

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.tables import Tables
from qirsh.web.html.cookies import SESSION, set_cookie
from tests.live import PASSWORD, Call, Customer, InProcess, World

FORM: Final = "application/x-www-form-urlencoded"
_BOUNDARY: Final = "----WebKitFormBoundary7MA4YWxkTrZu0gW"


def multipart(texts: dict[str, str], files: dict[str, bytes]) -> tuple[bytes, str]:
    """As a browser sends a form with files, and its content type."""
    body = b""
    for name, text in texts.items():
        body += f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
    for name, data in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="IMG_1.jpg"\r\nContent-Type: image/jpeg'
        body += f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
    return body + f"--{_BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={_BOUNDARY}"


class Guest:
    """Somebody at the door, or at home once they are signed in."""

    def __init__(self, world: World, language: str = "") -> None:
        self.world = world
        self.language = language
        self.cookies: dict[str, str] = {}
        self.page = ""
        self.email = ""  # Of who signed in last.
        # These two are known of whoever has `entered`.
        self.account = ""
        self.person = 0

    def address(self, path: str) -> str:
        """Where a path leads."""
        return path or "/"

    def call(self, method: str, path: str = "", body: bytes | None = None, **headers: str) -> Call:
        """The request as this browser sends it. Underscores in the names of headers stand for hyphens."""
        named = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        if self.language:
            named["accept-language"] = self.language
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        return Call(method, self.address(path), None, body, tuple(named.items()))

    def seen(self, answer: httpx2.Response) -> httpx2.Response:
        """What an answer leaves behind."""
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        self.page = answer.text
        return answer

    def open(self, path: str = "", **headers: str) -> httpx2.Response:
        return self.seen(self.world.send(self.call("GET", path, None, **headers)))

    def ask(self, path: str, **query: str) -> httpx2.Response:
        """Open a page with a query. `from` is a word of Python: a `_` at the end is not sent."""
        named = {name.rstrip("_"): value for name, value in query.items()}
        return self.open(f"{path}?{urlencode(named)}" if named else path)

    def read(self, path: str, **query: str) -> str:
        """What is read on a page that is there."""
        answer = self.ask(path, **query)
        assert answer.status_code == 200, answer.text
        return self.text

    def form(self, action: str) -> dict[str, str]:
        """The hidden fields of the form on the page that posts there."""
        found = re.search(rf'action="{re.escape(self.address(action))}"[^>]*>(.*?)</form>', self.page, re.DOTALL)
        assert found, self.page
        fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found.group(1))
        return {name: html.unescape(value) for name, value in fields}

    def posting(
        self,
        action: str,
        fields: dict[str, str] | bytes | None = None,
        headers: dict[str, str] | None = None,
        /,
        **typed: str,
    ) -> Call:
        """The form on the page, filled in and ready to be sent; or these fields, whatever is on the page."""
        if not isinstance(fields, bytes):
            fields = urlencode({**(self.form(action) if fields is None else fields), **typed}).encode()
        return self.call("POST", action, fields, **{"content_type": FORM, **(headers or {})})

    def post(
        self,
        action: str,
        fields: dict[str, str] | bytes | None = None,
        headers: dict[str, str] | None = None,
        /,
        **typed: str,
    ) -> httpx2.Response:
        return self.seen(self.world.send(self.posting(action, fields, headers, **typed)))

    def uploading(self, action: str, files: dict[str, bytes], **typed: str) -> Call:
        """The form on the page with files, ready to be sent."""
        body, kind = multipart({**self.form(action), **typed}, files)
        return self.call("POST", action, body, content_type=kind)

    def upload(self, action: str, files: dict[str, bytes], **typed: str) -> httpx2.Response:
        return self.seen(self.world.send(self.uploading(action, files, **typed)))

    def follow(self, answer: httpx2.Response) -> httpx2.Response:
        """Where a redirect leads."""
        assert answer.status_code == 303, answer.text
        return self.open(answer.headers["location"])

    def sign_in(self, email: str, password: str = PASSWORD, code: str = "") -> httpx2.Response:
        """The form of the door, and with a code the one that comes after it."""
        self.email = email
        self.open("/sign-in")
        answer = self.post("/sign-in", email=email, password=password)
        if not code:
            return answer
        self.follow(answer)
        return self.post("/sign-in/code", code=code)

    def signed_in(self, who: Customer | str) -> Self:
        """By the form, which must let them in."""
        answer = self.sign_in(who if isinstance(who, str) else who.email)
        assert answer.status_code == 303, answer.text
        return self

    def entered(self, who: Customer) -> Self:
        """With a ready session, for tests that ask nothing of the door: its password check is slow."""
        assert isinstance(self.world, InProcess)
        self.email, self.account = who.email, who.account
        login = self.world.run(self.world.context.store.find(Tables.logins, who.email))
        assert login is not None
        self.person = login.person
        token = make_token(PAGE_SESSION_KIND, self.world.context.entropy(32))
        command = OpenSession(token_hash(token.encode()), self.person, int(who.account), "test", email=who.email)
        session: Any = self.world.run(self.world.context.engine.submit(command))
        assert session.person == self.person, session
        _, line = set_cookie(self.world.context, SESSION, token)
        name, _, value = line.decode().partition(";")[0].partition("=")
        self.cookies[name] = value
        return self

    def is_signed_in(self) -> bool:
        """By the door, which leads in."""
        return bool(self.open("/").headers.get("location") == "/wallet")

    @property
    def text(self) -> str:
        """What is read on the page, on one line."""
        without = re.sub(r"<(title|head|style)\b.*?</\1>|<[^>]*>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(without).split())

    @property
    def wrong(self) -> dict[str, str]:
        """What stands beside each field that was not right."""
        return dict(re.findall(r'id="(\w+)-wrong">([^<]*)<', html.unescape(self.page)))

    def value(self, name: str) -> str:
        """What a field of the page holds."""
        found = re.search(rf'<input id="{name}"[^>]*value="([^"]*)"', self.page)
        assert found, name
        return html.unescape(found.group(1))
