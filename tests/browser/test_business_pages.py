"""The dashboard of a business on a phone and on a desk: no barrier, nothing too wide, and one language."""

from itertools import islice

import pytest

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Sight
from tests.browser.test_console_pages import some_pages
from tests.browser.test_journeys import in_one_language, sign_in
from tests.browser.tour import Stage, business_tour
from tests.live import Customer


def owner(scene: Scene, code: str) -> tuple[Stage, str]:
    """Of a business with a payment that waits, and one that was paid."""
    customer, payer = scene.customer(), scene.customer()
    asked = scene.act("account request", account=customer.account, name="مكتبة الشام", returnOrigins=scene.shop_url)
    scene.act("account approve", account=asked["account"])
    key = scene.act("key issue", account=asked["account"])["key"]
    waiting = scene.payment(key, amount=1_250_00, currency="TRY", note="قهوة")
    paid = scene.payment(key, amount=25_00, reference="INV-7", note="قهوة", metadata={"order": "A-7"})
    scene.pay(payer, paid)
    scene.act("message send", account=asked["account"], text="ما الذي تبيعونه؟\nWe need your register entry.")
    return Stage(scene.base_url, code, waiting, customer.email, "", asked["account"]), paid


@pytest.mark.slow
@some_pages("ar", slice(0, 12, 2))
def test_the_dashboard_is_whole_on_a_phone(scene: Scene, open_page: Open, sight: Sight, code: str, part: slice) -> None:
    page = open_page(**PHONE)
    for name in islice(business_tour(page, *owner(scene, code)), part.start, part.stop, part.step):
        sight.see(page, name)


@pytest.mark.slow
@in_one_language("en")
def test_the_open_place_is_in_sight_among_more_than_fit(scene: Scene, open_page: Open, code: str) -> None:
    stage, _ = owner(scene, code)
    for options in (PHONE, {"viewport": {"width": 1280, "height": 600}}):
        page = open_page(**options)
        sign_in(page, scene, code, Customer(stage.customer, "", ""))
        page.goto(f"{scene.base_url}/business/{stage.business}/staff")
        place, places = (page.locator(f".of-shop{each}").bounding_box() for each in (" [aria-current]", ""))
        assert place
        assert places
        assert places["x"] <= place["x"] <= place["x"] + place["width"] <= places["x"] + places["width"]
        assert places["y"] <= place["y"] <= place["y"] + place["height"] <= places["y"] + places["height"]


@some_pages("tr", slice(1, 12, 3))
def test_the_dashboard_is_whole_on_a_desk_in_the_dark(
    scene: Scene, open_page: Open, sight: Sight, code: str, part: slice
) -> None:
    page = open_page(viewport={"width": 1280, "height": 740}, color_scheme="dark")
    for name in islice(business_tour(page, *owner(scene, code)), part.start, part.stop, part.step):
        sight.see(page, name)


@pytest.mark.slow
@in_one_language("en")
def test_the_dashboard_works_without_javascript(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    sight.has_script = False
    page = open_page(**PHONE, java_script_enabled=False)
    for name in business_tour(page, *owner(scene, code)):
        sight.see(page, name)


def test_an_open_list_says_how_many_payments_came_and_moves_nothing(scene: Scene, open_page: Open) -> None:
    stage, _ = owner(scene, "en")
    key = scene.act("key issue", account=stage.business)["key"]
    page = open_page(**PHONE)
    sign_in(page, scene, "en", Customer(stage.customer, "", ""))
    page.clock.install()
    for path, shown in (("/payments", 4), ("", 5)):
        page.goto(f"{scene.base_url}/business/{stage.business}{path}")
        link, line = page.locator(".news a"), page.locator(".moves li:has(a[href*='/payments/'])").first
        before = line.bounding_box()
        assert not link.is_visible()
        page.clock.run_for(11_000)
        assert not link.is_visible()
        for number in (1, 2):
            scene.payment(key)
            with page.expect_response(lambda answer: "/payments/newer" in answer.url):
                page.clock.run_for(11_000)
            page.get_by_role("link", name=f"{number} new payment").wait_for()
        assert line.bounding_box() == before
        link.click()
        page.wait_for_function("!document.querySelector('.news a').textContent")
        assert page.locator(".moves li:has(a[href*='/payments/'])").count() == shown
