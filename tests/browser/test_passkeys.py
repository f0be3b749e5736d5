"""Passkeys in a browser with a device of its own: made and used on two small pages, under the policy of ours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page

import qirsh.web
from qirsh.settings import read_settings
from qirsh.web.auth import passkeys
from qirsh.web.auth.passkeys import NewPasskey, PasskeyAssertion
from qirsh.web.html.forms import read_form
from qirsh.web.html.rendering import PAGE
from qirsh.web.html.static_files import address, serve_file
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route
from tests.app_in_thread import app_in_thread
from tests.browser.conftest import patient
from tests.browser.passkey_device import give_device
from tests.live import free_port

PERSON: Final = 7
ADDING: Final = passkeys.adding("session", PERSON, "proof")
CONFIRMING: Final = passkeys.confirming("session", ("1234567890123456", "10098", "SYP", "7", "Al-Sham Books"))
_FORM: Final = """<!doctype html><html lang="en"><title>Passkey</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="{style}"><script src="{script}" defer></script>
<form method="post" data-passkey="{options}"><input type="hidden" name="passkey">
<label>PIN <input name="pin" required></label>
<div data-passkey-offer hidden><button class="button" type="button" data-passkey-button>Use a passkey</button></div>
<p class="stack" data-passkey-failed hidden>It did not work.</p></form>"""
_WITHOUT_PARSERS: Final = """
delete PublicKeyCredential.parseCreationOptionsFromJSON; delete PublicKeyCredential.parseRequestOptionsFromJSON;
"""


@dataclass
class Pages:
    """One page makes a passkey, the other uses it."""

    base_url: str = ""
    made: NewPasskey | None = None
    proof: PasskeyAssertion | None = None
    known: list[bytes] = field(default_factory=list)

    async def show_adding(self, context: Context, _request: Request) -> Response:
        return _form(
            passkeys.creation_options(context, ADDING, person=PERSON, email="a@b.c", name="أمل", known=self.known)
        )

    async def add(self, context: Context, request: Request) -> Response:
        answer = read_form(context, request, "passkey", "pin")["passkey"]
        self.made = passkeys.new_passkey(context, ADDING, answer)
        return _said("made" if self.made else "refused")

    async def show_using(self, context: Context, _request: Request) -> Response:
        return _form(passkeys.request_options(context, CONFIRMING, self.known))

    async def use(self, context: Context, request: Request) -> Response:
        answer = read_form(context, request, "passkey", "pin")["passkey"]
        assert self.made is not None
        known = _Kept(self.made.id, PERSON, self.made.public_key, self.made.sign_count)
        self.proof = passkeys.verify_assertion(context, CONFIRMING, answer, known)
        return _said("proved" if self.proof else "refused")

    def routes(self) -> tuple[Route, ...]:
        return (
            Route("GET", "/add", self.show_adding, None, is_page=True),
            Route("POST", "/add", self.add, None, is_page=True),
            Route("GET", "/use", self.show_using, None, is_page=True),
            Route("POST", "/use", self.use, None, is_page=True),
            Route("GET", "/static/{file}", serve_file, None),
        )


@dataclass(frozen=True)
class _Kept:
    id: bytes
    person: int
    public_key: bytes
    sign_count: int


def _form(options: str) -> Response:
    body = _FORM.format(options=escape(options), script=address("passkey.js"), style=address("qirsh.css"))
    return Response(200, body.encode(), head=PAGE)


def _said(word: str) -> Response:
    return Response(200, f'<!doctype html><title>x</title><link rel="icon" href="data:,"><p>{word}'.encode(), head=PAGE)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    port = free_port()
    made = Pages(f"http://localhost:{port}")
    settings = read_settings(
        {
            "QIRSH_DATA_DIR": str(tmp_path),
            "QIRSH_PORT": str(port),
            "QIRSH_HOST": "127.0.0.1",
            "QIRSH_BASE_URL": made.base_url,
        }
    )
    with app_in_thread(settings, made.routes()):
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Watched: no error, no violation of the policy."""
    faults: list[str] = []
    context = patient(browser.new_context())
    opened = context.new_page()
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert faults == []


def press(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Use a passkey").click()


@pytest.mark.parametrize(
    ("script", "is_named"),
    [
        pytest.param("", True, id="named, with the browser's parsers"),
        pytest.param(_WITHOUT_PARSERS, False, id="discovered, with our own"),
        pytest.param("", False, id="discovered, with the browser's parsers", marks=pytest.mark.slow),
        pytest.param(_WITHOUT_PARSERS, True, id="named, with our own", marks=pytest.mark.slow),
    ],
)
def test_a_passkey_is_made_and_used_in_a_browser(pages: Pages, page: Page, script: str, *, is_named: bool) -> None:
    page.add_init_script(script)
    give_device(page)
    press(page, f"{pages.base_url}/add")
    page.get_by_text("made").wait_for()
    assert pages.made is not None
    pages.known = [pages.made.id] if is_named else []
    press(page, f"{pages.base_url}/use")
    page.get_by_text("proved").wait_for()
    assert pages.proof is not None
    assert pages.proof.sign_count > pages.made.sign_count


def test_a_device_that_does_not_know_its_owner_is_not_enough(pages: Pages, page: Page) -> None:
    give_device(page, isUserVerified=False)
    press(page, f"{pages.base_url}/add")
    page.get_by_text("It did not work.").wait_for()
    assert page.get_by_role("button").is_enabled()
    assert pages.made is None


def test_the_same_device_is_not_added_twice(pages: Pages, page: Page) -> None:
    give_device(page)
    press(page, f"{pages.base_url}/add")
    page.get_by_text("made").wait_for()
    assert pages.made is not None
    pages.known = [pages.made.id]
    press(page, f"{pages.base_url}/add")
    page.get_by_text("It did not work.").wait_for()


def test_nothing_is_offered_where_it_would_not_work(pages: Pages, page: Page, browser: Browser) -> None:
    page.add_init_script("delete window.PublicKeyCredential;")
    page.goto(f"{pages.base_url}/use")
    assert not page.locator("[data-passkey-offer]").is_visible()
    context = patient(browser.new_context(java_script_enabled=False))
    plain = context.new_page()
    plain.goto(f"{pages.base_url}/use")
    assert plain.get_by_label("PIN").is_visible()
    assert not plain.locator("[data-passkey-offer]").is_visible()
    assert not plain.locator("[data-passkey-failed]").is_visible()
    context.close()


def test_the_script_is_small() -> None:
    assert (Path(qirsh.web.__file__).parent / "html" / "static" / "passkey.js").stat().st_size < 3000
