"""The pages about webhooks on a phone and on a desk: no barrier, nothing too wide, and one language."""

from itertools import islice

import pytest

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Sight
from tests.browser.test_console_pages import some_pages
from tests.browser.test_journeys import in_one_language
from tests.browser.tour import Stage, webhook_tour
from tests.live import Customer, cancel
from tests.web.webhooks import create_endpoint, resend


def owner(scene: Scene, code: str) -> tuple[Stage, str, str]:
    """Of a business with an endpoint, to which an event is sent again; the ids of both."""
    customer: Customer = scene.customer()
    asked = scene.act("account request", account=customer.account, name="مكتبة الشام", returnOrigins=scene.shop_url)
    scene.act("account approve", account=asked["account"])
    key = scene.act("key issue", account=asked["account"])["key"]
    scene.told(cancel(key, scene.payment(key)))
    endpoint: str = scene.told(create_endpoint(key, url=f"http://127.0.0.1:9/{'hooks' * 30}", description="قهوة"))["id"]
    delivery = f"dlv_{endpoint.removeprefix('we_')}_1"
    scene.told(resend(key, delivery))
    return Stage(scene.base_url, code, "", customer.email, "", asked["account"]), endpoint, delivery


@some_pages("ar", slice(0, 10, 3))
def test_the_pages_of_webhooks_are_whole_on_a_phone(
    scene: Scene, open_page: Open, sight: Sight, code: str, part: slice
) -> None:
    page = open_page(**PHONE)
    for name in islice(webhook_tour(page, *owner(scene, code)), part.start, part.stop, part.step):
        sight.see(page, name)


@pytest.mark.slow
@some_pages("tr", slice(1, 10, 3))
def test_the_pages_of_webhooks_are_whole_on_a_desk_in_the_dark(
    scene: Scene, open_page: Open, sight: Sight, code: str, part: slice
) -> None:
    page = open_page(viewport={"width": 1280, "height": 740}, color_scheme="dark")
    for name in islice(webhook_tour(page, *owner(scene, code)), part.start, part.stop, part.step):
        sight.see(page, name)


@pytest.mark.slow
@in_one_language("en")
def test_the_pages_of_webhooks_work_without_javascript(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    sight.has_script = False
    page = open_page(**PHONE, java_script_enabled=False)
    for name in webhook_tour(page, *owner(scene, code)):
        sight.see(page, name)
