"""Every page of the operator console, on a phone and on a desk: no barrier, nothing too wide, and one language."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page

from qirsh.language.catalog import LANGUAGES
from qirsh.web.operator.routes import ROUTES
from tests.browser.conftest import PHONE, Open
from tests.browser.console_town import ConsoleTown, console_town
from tests.browser.sight import Sight
from tests.browser.test_journeys import in_one_language, send

# All that a browser opens, except for what is a picture and no page.
PAGES: Final = [route.path for route in ROUTES if route.method == "GET" and not route.path.endswith("/{side}")]
# What a part of an address stands for, by the part before it; otherwise it has the name that it has there.
MEANINGS: Final = {
    "identities": "identity",
    "businesses": "business",
    "brands": "brand",
    "payouts": "payout",
    "proposals": "proposal",
    "statements": "statement",
    "keys": "key",
}
SEARCHED: Final = "?q=FT-1001"

# Sums that stand on two lines, and spaces that a flex box swallows between a text and what stands beside it.
UNTIDY: Final = """() => {
    const isSum = text => /^[-+]?[\\d.,]*\\d[.,]\\d\\d( [A-Z]{3})?$/.test(text.trim());
    const broken = [...document.querySelectorAll("main bdi")]
        .filter(element => isSum(element.textContent) && element.getClientRects().length > 1);
    const hasEdge = node => node.nodeType === Node.TEXT_NODE && /\\S\\s+$|^\\s+\\S/.test(node.data);
    const glued = [...document.querySelectorAll(".link")]
        .filter(element => element.children.length && [...element.childNodes].some(hasEdge));
    return [...broken, ...glued].map(element => element.outerHTML.slice(0, 120));
}"""
# Whether the place where one is can be seen in the menu.
HERE_IS_SEEN: Final = """() => [...document.querySelectorAll(".places [aria-current]")].every(here => {
    const [place, menu] = [here.getBoundingClientRect(), here.parentElement.getBoundingClientRect()];
    return place.left >= menu.left - 1 && place.right <= menu.right + 1;
})"""

Settle = Callable[[str], ConsoleTown]


@pytest.fixture
def settle(tmp_path: Path, ours: list[str]) -> Iterator[Settle]:
    """A town of its own in which everything is in one language."""
    with ExitStack() as stack:

        def settled(code: str) -> ConsoleTown:
            town = stack.enter_context(console_town(tmp_path / "data", code))
            ours.append(f"{town.base_url}/")
            return town

        yield settled


def address(town: ConsoleTown, path: str) -> str:
    """Of a page about something that is there."""
    found = town.found._asdict()
    filled = re.sub(r"/(\w+)/\{(\w+)\}", lambda part: f"/{part[1]}/{found[MEANINGS.get(part[1], part[2])]}", path)
    return f"{town.base_url}{filled}" + (SEARCHED if path == "/operator/search" else "")


def walk(page: Page, town: ConsoleTown, code: str, part: slice) -> Iterator[str]:
    """The name of each page, when it is open. First those before the door."""
    before_door = {path for path in PAGES if path in {"/operator/sign-in", "/operator/appointments/{token}"}}
    is_in = False
    for path in sorted(PAGES[part], key=lambda path: path not in before_door):
        if not is_in and path not in before_door:
            town.sign_in(page)
            is_in = True
        answer = page.goto(address(town, path) + (f"?lang={code}" if path in before_door else ""))
        assert answer is not None
        assert answer.status == 200, path
        yield re.sub(r"\W+", "-", path).strip("-")


def some_pages(code: str, few: slice) -> pytest.MarkDecorator:
    """Each time a few pages in one language; in the long run all, in each."""
    short = pytest.param(code, few, id=f"{code}-few")
    long_run = [pytest.param(each, slice(None), id=f"{each}-all", marks=pytest.mark.slow) for each in LANGUAGES]
    return pytest.mark.parametrize(("code", "part"), [short, *long_run])


@some_pages("ar", slice(0, None, 9))
def test_the_console_is_whole_on_a_phone(settle: Settle, open_page: Open, sight: Sight, code: str, part: slice) -> None:
    page = open_page(**PHONE)
    for name in walk(page, settle(code), code, part):
        sight.see(page, name)
        assert page.evaluate(UNTIDY) == [], name
        assert page.evaluate(HERE_IS_SEEN), name


@pytest.mark.slow
@some_pages("tr", slice(2, None, 9))
def test_the_console_is_whole_on_a_desk_in_the_dark(
    settle: Settle, open_page: Open, sight: Sight, code: str, part: slice
) -> None:
    page = open_page(viewport={"width": 1280, "height": 740}, color_scheme="dark")
    for name in walk(page, settle(code), code, part):
        sight.see(page, name)


@in_one_language("en")
def test_the_door_and_a_form_work_without_javascript(settle: Settle, open_page: Open, sight: Sight, code: str) -> None:
    sight.has_script = False
    town, page = settle(code), open_page(**PHONE, java_script_enabled=False)
    town.sign_in(page)
    sight.see(page, "home")
    proposal = f"/operator/proposals/{town.found.proposal}"
    page.goto(f"{town.base_url}{proposal}")
    send(page, f"{proposal}/refuse", reason=town.names.question)
    sight.see(page, "refused")
    assert page.url == f"{town.base_url}{proposal}"
    assert town.names.question in page.inner_text(".facts")
    assert page.locator(f'form[action="{proposal}/refuse"]').count() == 0
    page.goto(f"{town.base_url}/operator/proposals")
    assert town.found.proposal not in page.content()
