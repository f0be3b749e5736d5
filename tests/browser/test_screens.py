"""The main screens at the widths of a phone, a tablet and a desk, light and dark, with and without JavaScript."""

from typing import Final

import pytest

from qirsh.language.catalog import LANGUAGES
from tests.browser.conftest import Open, Scene
from tests.browser.sight import Sight
from tests.browser.tour import Stage, tour

# With scripts in both colours; without them nothing is said to be another colour.
KINDS: Final = [("light", True), ("dark", True), ("light", False)]


@pytest.mark.slow
@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize(("scheme", "has_script"), KINDS, ids=["light", "dark", "no script"])
def test_the_main_screens_are_whole_everywhere(
    scene: Scene, open_page: Open, sight: Sight, *, code: str, width: int, scheme: str, has_script: bool
) -> None:
    sight.has_script = has_script
    viewport = {"width": width, "height": 740}
    page = open_page(viewport=viewport, color_scheme=scheme, java_script_enabled=has_script)
    for name in tour(page, stage(scene, code)):
        sight.see(page, name)


def stage(scene: Scene, code: str) -> Stage:
    customer = scene.customer()
    asked = scene.act("account request", account=customer.account, name="مكتبة الشام", returnOrigins=scene.shop_url)
    scene.act("account approve", account=asked["account"])
    scene.act("key issue", account=asked["account"])
    newcomer = scene.person(verified=False)
    payment_id = scene.payment(amount=10098, note="1029")
    return Stage(scene.base_url, code, payment_id, customer.email, newcomer.email, asked["account"])
