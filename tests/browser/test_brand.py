"""A business with a colour and a logo: set on its pages, seen on its pay page by day and by night, on a phone."""

from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from qirsh.domain.colour import text_on
from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Axe, Sight
from tests.browser.test_business_pages import owner
from tests.browser.test_journeys import in_one_language, sign_in
from tests.live import Customer

# Lighter than what carries white, and darker than what carries ink: refused, and the nearest is offered.
UNREADABLE = "#ff0000"
COLOURS_OF = "button => [getComputedStyle(button).color, getComputedStyle(button).backgroundColor]"
COLOURS = ("#0b3d91", "#ffd400", "#111716", "#fffdf8")


def drawn() -> bytes:
    """A logo whose letters are dark, on nothing: on a dark page it needs a ground of its own."""
    image = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    ImageDraw.Draw(image).ellipse((40, 40, 360, 360), outline="#111111", width=40)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def rgb(colour: str) -> str:
    """As a browser tells it."""
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:], 16)})"


@pytest.mark.slow
@in_one_language("ar")
def test_an_owner_chooses_how_the_shop_looks_on_a_phone(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    stage, _ = owner(scene, code)
    page = open_page(**PHONE)
    sign_in(page, scene, code, Customer(stage.customer, "", ""))
    page.goto(f"{scene.base_url}/business/{stage.business}/brand")
    sight.see(page, "brand")
    page.locator("#colour").fill(UNREADABLE)
    page.locator("form:has(#colour) button").click()
    sight.see(page, "brand-offered")
    offered = page.locator('input[type="hidden"][name="colour"]').get_attribute("value")
    assert offered
    page.locator(f'form:has(input[value="{offered}"]) button').click()
    sight.see(page, "brand-coloured")
    assert page.locator("#colour").input_value() == offered
    page.locator("#name").fill("دار الشام")
    page.locator("#logo").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": drawn()})
    page.locator("form:has(#logo) button").click()
    sight.see(page, "brand-waiting")
    assert page.locator(".payee img").evaluate("image => image.naturalWidth") == 256
    change = scene.act("brand show", account=stage.business)
    scene.act("brand refuse", account=stage.business, id=change["id"], reason="هذا شعار متجر آخر")
    page.reload()
    sight.see(page, "brand-refused")


@pytest.mark.parametrize("colours", [COLOURS[1:2], pytest.param(COLOURS, marks=pytest.mark.slow)], ids=["one", "all"])
def test_the_pay_page_in_any_colour_can_be_read_by_day_and_by_night(
    scene: Scene, open_page: Open, axe: Axe, colours: tuple[str, ...]
) -> None:
    stage, _ = owner(scene, "en")
    desk = open_page()
    sign_in(desk, scene, "en", Customer(stage.customer, "", ""))
    desk.goto(f"{scene.base_url}/business/{stage.business}/brand")
    desk.locator("#logo").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": drawn()})
    desk.locator("form:has(#logo) button").click()
    change = scene.act("brand show", account=stage.business)
    scene.act("brand approve", account=stage.business, id=change["id"])
    pages = [open_page(**PHONE, color_scheme="dark")]
    if colours == COLOURS:
        pages += [open_page(**PHONE, color_scheme="light"), open_page()]
    for colour in colours:
        desk.goto(f"{scene.base_url}/business/{stage.business}/brand")
        desk.locator("#colour").fill(colour)
        desk.locator("form:has(#colour) button").click()
        for page in pages:
            page.goto(f"{scene.base_url}/pay/{stage.payment}")
            assert axe.violations(page) == []
            button = page.locator(".slip .button:not(.quiet)").first
            shown = button.evaluate(COLOURS_OF)
            assert shown == [rgb(text_on(colour)), rgb(colour)]
            logo = page.get_by_role("img", name="مكتبة الشام")
            assert logo.evaluate("image => [image.naturalWidth, image.getBoundingClientRect().width]") == [256, 56]
            button.hover()
            assert axe.contrast(page) == []
