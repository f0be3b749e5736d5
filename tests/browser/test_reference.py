"""The reference page in a browser: readable on a phone, whole without JavaScript, and searchable with it."""

from typing import Final

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import violations

_SHOWN: Final = "elements => elements.filter(e => e.checkVisibility()).map(e => e.id || e.dataset.find)"


def shown(page: Page, selector: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(selector, _SHOWN)
    return found


def find(page: Page, wanted: str) -> tuple[list[str], list[str]]:
    page.fill("#search", wanted)
    return shown(page, ".docs-call"), shown(page, ".docs-call .field")


def test_without_a_script_everything_is_there_but_the_search(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE, java_script_enabled=False)
    page.goto(f"{scene.base_url}/docs")
    assert not page.locator(".docs-search").is_visible()
    assert page.locator(".docs-call >> visible=true").count() > 10


def test_a_search_finds_calls_fields_and_codes(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE)
    page.goto(f"{scene.base_url}/docs")
    everything = shown(page, ".docs-call")
    # A field shows the calls that have it, and nothing else of them; a call's name shows it whole.
    calls, fields = find(page, "refundedAmount")
    assert "remotePaymentsRetrieve" in calls
    assert {field.rpartition(".")[2] for field in fields} == {"refundedAmount"}
    calls, fields = find(page, "wrong_pin")
    assert "walletRemotePaymentsPay" in calls
    assert set(fields) == {"wrong_pin 403"}
    calls, fields = find(page, "sign in")
    assert "walletSessionsCreate" in calls
    assert "password" in fields
    assert find(page, "no such thing") == ([], [])
    assert find(page, "")[0] == everything


def test_a_deep_link_leads_to_its_call(scene: Scene, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{scene.base_url}/docs#walletRemotePaymentsPay")
    top = page.evaluate("document.querySelector('#walletRemotePaymentsPay').getBoundingClientRect().top")
    assert 0 <= top < 100


@pytest.mark.parametrize(
    ("device", "colours"),
    [
        pytest.param({}, "light", id="desktop-light", marks=pytest.mark.slow),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param({}, "dark", id="desktop-dark", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.slow),
    ],
)
def test_it_fits_the_screen_and_has_no_barriers(
    scene: Scene, open_page: Open, device: dict[str, object], colours: str
) -> None:
    page = open_page(**device, color_scheme=colours)
    page.goto(f"{scene.base_url}/docs")
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert violations(page) == []
