"""A signed-in browser at the pages of a wallet: it keeps its cookies and posts the forms that it was shown."""

import html
import io
import re
from typing import Self
from urllib.parse import urlencode

import httpx2
import msgspec
from PIL import Image

from tests.live import Call, InProcess, Merchant, World
from tests.visitor import FORM, Visitor

_BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"


def picture(kind: str = "JPEG", size: tuple[int, int] = (400, 250)) -> bytes:
    """A small picture of nothing."""
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind)
    return out.getvalue()


def multipart(texts: dict[str, str], files: dict[str, bytes]) -> tuple[bytes, str]:
    """As a browser sends a form with files, and its content type."""
    body = b""
    for name, text in texts.items():
        body += f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
    for name, data in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="IMG_1.jpg"\r\nContent-Type: image/jpeg'
        body += f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
    return body + f"--{_BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={_BOUNDARY}"


def letters_to(world: InProcess, email: str) -> dict[str, dict[str, str]]:
    """The letters that wait to be sent to somebody: what they say, by kind."""
    with world.books() as books:
        rows = books.select("SELECT sealed FROM mail")
    plain = [world.parts.keyring.unseal(bytes(sealed), b"mail") for (sealed,) in rows]
    told = [msgspec.json.decode(text or b"") for text in plain]
    return {letter["kind"]: letter["words"] for letter in told if letter["to"] == email}


class Guest:
    """Somebody at home in their wallet."""

    def __init__(self, world: World, email: str, merchant: Merchant) -> None:
        visitor = Visitor(world, world.payment(merchant)).signed_in(email)
        self.world = world
        self.email = email
        self.cookies = visitor.cookies
        self.page = ""

    def other_tab(self) -> Self:
        """The same browser, at another page."""
        tab = object.__new__(type(self))
        tab.world, tab.email, tab.cookies, tab.page = self.world, self.email, self.cookies, self.page
        return tab

    def call(self, method: str, path: str, body: bytes | None = None, content_type: str = "") -> Call:
        headers = [("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))]
        return Call(
            method, path, None, body, tuple(headers + ([("content-type", content_type)] if content_type else []))
        )

    def seen(self, answer: httpx2.Response) -> httpx2.Response:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        self.page = answer.text
        return answer

    def open(self, path: str) -> httpx2.Response:
        return self.seen(self.world.send(self.call("GET", path)))

    def form(self, action: str) -> dict[str, str]:
        """The hidden fields of a form on the page."""
        found = re.search(rf'action="{action}"[^>]*>(.*?)</form>', self.page, re.DOTALL)
        assert found, self.text
        return dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', found.group(1)))

    def posting(self, path: str, **fields: str) -> Call:
        return self.call("POST", path, urlencode({**self.form(path), **fields}).encode(), FORM)

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """The form on the page, filled in."""
        return self.seen(self.world.send(self.posting(path, **fields)))

    def uploading(self, path: str, files: dict[str, bytes], **fields: str) -> Call:
        return self.call("POST", path, *multipart({**self.form(path), **fields}, files))

    def upload(self, path: str, files: dict[str, bytes], **fields: str) -> httpx2.Response:
        return self.seen(self.world.send(self.uploading(path, files, **fields)))

    @property
    def text(self) -> str:
        """What is read on the page, on one line."""
        without = re.sub(r"<(title|head|style)\b.*?</\1>|<[^>]*>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(without).split())

    def value(self, name: str) -> str:
        """What a field of the page holds."""
        found = re.search(rf'<input id="{name}"[^>]*value="([^"]*)"', self.page)
        assert found, name
        return html.unescape(found.group(1))
