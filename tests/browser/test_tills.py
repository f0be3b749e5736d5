"""A till from the dashboard to the pay page of a customer, on a phone: no barrier, nothing too wide, one language."""

import pytest

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Sight
from tests.browser.test_business_pages import owner
from tests.browser.test_journeys import follow, in_one_language, path_of, send, sign_in
from tests.live import Customer


@pytest.mark.slow
@in_one_language("ar")
def test_a_till_is_opened_used_and_closed(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    stage, _ = owner(scene, code)
    base = f"/business/{stage.business}/tills"
    page = open_page(**PHONE)
    sign_in(page, scene, code, Customer(stage.customer, "", ""))
    page.goto(f"{scene.base_url}{base}")
    sight.see(page, "no tills")
    send(page, base, name="الطاولة 4", minimum="9", maximum="5", currency="USD")
    sight.see(page, "till with mistakes")
    send(page, base, minimum="5", maximum="900", note="شاي")
    own = path_of(page, scene)
    sight.see(page, "till")
    page.goto(f"{scene.base_url}{base}")
    sight.see(page, "tills")
    customer, till = open_page(**PHONE), f"/till/{own.rpartition('/')[2]}"
    customer.goto(f"{scene.base_url}{till}?lang={code}")
    sight.see(customer, "at the till")
    send(customer, till, amount="1")
    sight.see(customer, "too little")
    send(customer, till, amount="12")
    assert path_of(customer, scene).startswith("/pay/")
    page.goto(f"{scene.base_url}{own}")
    follow(page, f"{own}/close")
    sight.see(page, "close till")
    send(page, f"{own}/close")
    sight.see(page, "till closed")
    customer.goto(f"{scene.base_url}{till}")
    sight.see(customer, "closed till")
