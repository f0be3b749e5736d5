"""Pictures of a document are made smaller in the browser, and nothing is lost when one is too large."""

from pathlib import Path

from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Open, Scene
from tests.live import PASSWORD

_SIZE = "input => input.files[0].size"
_DIMENSIONS = "async input => { const map = await createImageBitmap(input.files[0]); return [map.width, map.height] }"


def test_a_large_picture_is_made_smaller_before_it_is_sent(scene: Scene, open_page: Open, tmp_path: Path) -> None:
    person = scene.person(verified=False)
    page = open_page(**PHONE)
    page.goto(f"{scene.base_url}/sign-in")
    page.fill("#email", person.email)
    page.fill("#password", PASSWORD)
    with page.expect_navigation():
        page.locator('form[action="/sign-in"] .button').click()
    page.goto(f"{scene.base_url}/wallet/identity")
    photograph, other = tmp_path / "photograph.jpg", tmp_path / "other.jpg"
    Image.effect_noise((3500, 2100), 90).save(photograph, quality=95)
    assert photograph.stat().st_size > 5_000_000
    page.set_input_files("#front", photograph)
    expect(page.locator('form[action="/wallet/identity"] .button')).to_be_enabled()
    front = page.locator("#front")
    assert front.evaluate(_SIZE) < photograph.stat().st_size / 2
    assert front.evaluate(_DIMENSIONS) == [2000, 1200]
    # What the browser cannot read, and the server would not take, is said before anything is sent.
    other.write_bytes(bytes(16 * 1024**2))
    page.set_input_files("#back", other)
    expect(page.locator('form[action="/wallet/identity"] .button')).to_be_enabled()
    assert "15 MB" in page.locator("#back").evaluate("input => input.validationMessage")
    page.set_input_files("#back", [])
    facts = {"given_names": "Huda", "family_name": "Halabi", "birth_date": "1994-03-21", "document_number": "N1"}
    for name, value in facts.items():
        page.fill(f"#{name}", value)
    page.select_option("#document", "passport")
    with page.expect_navigation():
        page.locator('form[action="/wallet/identity"] .button').click()
    assert scene.act("identity show", account=person.account)["state"] == "submitted"
