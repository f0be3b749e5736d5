"""How browsers, phones and chats show the service: icons, colours, the manifest, and previews of links."""

import html
import io
import json
import re

import pytest
from PIL import Image

from tests.guest import Guest
from tests.live import Call, InProcess, cancel
from tests.visitor import Visitor


def linked(guest: Guest, rel: str) -> str:
    [address] = re.findall(rf'<link rel="{rel}" href="([^"]*)"', guest.page)
    return html.unescape(address)


def preview(visitor: Visitor) -> dict[str, str]:
    found = re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', visitor.page)
    return {name: html.unescape(content) for name, content in found}


@pytest.mark.parametrize("path", ["/sign-in", "/docs", "/nothing"])
def test_every_page_has_icons_colours_and_a_manifest(still: InProcess, path: str) -> None:
    guest = Guest(still)
    answer = guest.open(path, accept="text/html")
    assert "manifest-src 'self'" in answer.headers["content-security-policy"]
    colours = re.findall(
        r'<meta name="theme-color" media="\(prefers-color-scheme: (\w+)\)" content="(#\w+)">', guest.page
    )
    assert dict(colours).keys() == {"light", "dark"}
    style = still.send(Call("GET", re.findall(r'href="(/static/qirsh.css[^"]*)"', guest.page)[0])).text
    assert all(f"--paper: {colour}" in style for _, colour in colours)
    touch = still.send(Call("GET", linked(guest, "apple-touch-icon")))
    assert touch.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(touch.content)).size == (180, 180)
    assert still.send(Call("GET", linked(guest, "icon"))).headers["content-type"] == "image/svg+xml; charset=utf-8"


def test_the_manifest_names_icons_that_are_there(still: InProcess) -> None:
    guest = Guest(still)
    guest.open("/sign-in")
    answer = still.send(Call("GET", linked(guest, "manifest")))
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = json.loads(answer.content)
    # With the address in sight: people are told to look at it.
    assert (manifest["start_url"], manifest["display"]) == ("/wallet", "minimal-ui")
    for icon in manifest["icons"]:
        found = still.send(Call("GET", icon["src"]))
        assert (found.status_code, found.headers["content-type"].partition(";")[0]) == (200, icon["type"])
        if icon["sizes"] != "any":
            assert "{}x{}".format(*Image.open(io.BytesIO(found.content)).size) == icon["sizes"]


def test_a_chat_shows_whom_to_pay_and_how_much_and_nothing_else(still: InProcess) -> None:
    merchant = still.merchants[0]
    payment = still.payment(merchant, amount=10098, note="a private thing", reference="ref-77")
    visitor = Visitor(still, payment)
    visitor.open()
    shown = preview(visitor)
    assert shown["title"].startswith("Pay 100.98 USD to ")
    assert (shown["site_name"], shown["description"]) == ("Qirsh", "Open the link to pay.")
    assert shown["url"] == f"{still.settings.base_url}/pay/{payment}"
    image = still.send(Call("GET", shown["image"].removeprefix(still.settings.base_url)))
    assert image.headers["content-type"] == "image/png"
    assert not re.search("private|ref-77", str(shown))
    still.data(cancel(merchant.key, payment))
    visitor.open()
    assert (preview(visitor)["title"], preview(visitor)["description"]) == ("Payment", "This payment is closed.")
