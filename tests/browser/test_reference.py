"""The reference page in a browser: readable on a phone, whole without JavaScript, and searchable with it."""

from typing import Final

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Axe

_SHOWN: Final = "elements => elements.filter(e => e.checkVisibility()).map(e => e.id || e.dataset.find)"


def shown(page: Page, selector: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(selector, _SHOWN)
    return found


def find(page: Page, wanted: str) -> tuple[list[str], list[str]]:
    page.fill("#search", wanted)
    return shown(page, ".docs-call"), shown(page, ".docs-call .field")


@pytest.mark.slow
def test_without_a_script_everything_is_there_but_the_search(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE, java_script_enabled=False)
    page.goto(f"{scene.base_url}/docs")
    assert not page.locator(".docs-search").is_visible()
    assert page.locator(".docs-call >> visible=true").count() > 10


@pytest.mark.slow
@pytest.mark.parametrize("has_script", [False, True])
def test_one_choice_shows_the_samples_of_a_language(scene: Scene, open_page: Open, *, has_script: bool) -> None:
    page = open_page(**PHONE, java_script_enabled=has_script)
    page.goto(f"{scene.base_url}/docs")
    for language in ("curl", "python", "node", "php"):
        page.locator(f"#in-{language}").check()
        assert page.locator(".sample >> visible=true").count() > 20
        assert page.locator(f".sample:not([data-language={language}]) >> visible=true").count() == 0


def test_the_language_is_remembered_and_a_sample_can_be_copied(scene: Scene, open_page: Open) -> None:
    page = open_page(**PHONE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{scene.base_url}/docs")
    page.get_by_label("PHP", exact=True).check()
    page.reload()
    assert page.locator("#in-php").is_checked()
    sample = page.locator("#balanceRetrieve .sample[data-language=php]")
    sample.get_by_role("button", name="Copy").click()
    sample.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "print_r(call('GET', '/balance', token: $testKey));\n"


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


@pytest.mark.slow
def test_a_deep_link_leads_to_its_call(scene: Scene, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{scene.base_url}/docs#walletRemotePaymentsPay")
    top = page.evaluate("document.querySelector('#walletRemotePaymentsPay').getBoundingClientRect().top")
    assert 0 <= top < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "colours"),
    [
        pytest.param({}, "light", id="desktop-light"),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param({}, "dark", id="desktop-dark"),
        pytest.param(PHONE, "light", id="phone-light"),
    ],
)
def test_it_fits_the_screen_and_has_no_barriers(
    scene: Scene, open_page: Open, axe: Axe, device: dict[str, object], colours: str
) -> None:
    page = open_page(**device, color_scheme=colours)
    page.goto(f"{scene.base_url}/docs")
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert axe.violations(page) == []
