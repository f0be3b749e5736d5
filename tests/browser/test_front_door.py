"""The first minute of a stranger on a phone, and two taps from a cold pay page to paid."""

import re
from typing import Final

import pytest

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.passkey_device import give_device
from tests.browser.sight import Sight
from tests.browser.test_journeys import follow, in_one_language, path_of, send, sign_in, sign_out
from tests.live import PASSWORD, PIN
from tests.web.photo import picture

NEW_PASSWORD: Final = "seven quiet lemons by the sea"
# What a stranger reads first, and what they are told while their identity is checked.
FIRST: Final = {"en": "from one account", "ar": "من حساب واحد", "tr": "tek hesaptan"}


@pytest.mark.slow
@in_one_language("en")
def test_the_first_minute_of_a_stranger(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    page = open_page(locale=code, **PHONE)
    page.goto(f"{scene.base_url}/")
    assert FIRST[code] in page.inner_text("h1")
    sight.see(page, "front page")
    for door in ("/sign-up", "/business", "/docs"):
        assert page.locator(f'main a[href="{door}"]').count() >= 1

    payment_id = scene.payment(amount=10098, note="1029")
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    follow(page, f"/sign-up?pay={payment_id}")
    sight.see(page, "what it takes")
    email = f"stranger-{code}@home.example"
    send(page, "/sign-up", email=email)
    typed = {"name": "Huda", "password": NEW_PASSWORD, "pin": PIN, "pin_again": PIN}
    send(page, "/sign-up/code", code=scene.mailed_code(email), **typed)
    assert path_of(page, scene) == f"/pay/{payment_id}"

    follow(page, "/wallet/identity")
    page.set_input_files("#front", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture(size=(1200, 800))})
    facts = {"given_names": "Huda", "family_name": "Halabi", "birth_date": "1994-03-21", "document_number": "N0112233"}
    send(page, "/wallet/identity", document="passport", **facts)
    sight.see(page, "being checked, and the payment waits")
    page.goto(f"{scene.base_url}/wallet")
    sight.see(page, "the wallet of a stranger")
    follow(page, f"/pay/{payment_id}")
    assert path_of(page, scene) == f"/pay/{payment_id}"
    sight.see(page, "back at the payment")


@pytest.mark.slow
@pytest.mark.parametrize("code", ["ar"])
def test_two_taps_from_a_cold_pay_page_to_paid(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    customer = scene.customer()
    page = open_page(locale=code, **PHONE)
    give_device(page)
    sign_in(page, scene, code, customer)
    page.goto(f"{scene.base_url}/wallet/security/passkeys")
    send(page, "/wallet/security/passkeys", name="phone", password=PASSWORD)
    with page.expect_navigation():
        page.click("[data-passkey-button]")
    sign_out(page)

    payment_id = scene.payment(amount=700)
    page.goto(f"{scene.base_url}/pay/{payment_id}")
    sight.see(page, "a passkey first")
    with page.expect_navigation():  # One tap here, and one on the device, which this one does by itself.
        page.click("[data-passkey-button]")
    assert scene.status(payment_id) == "paid"
    assert re.search(r"7[.,]00", page.inner_text("main"))
    sight.see(page, "paid")
