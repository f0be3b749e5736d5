"""Exports in a real browser, on a phone: the form is whole, and both files are kept whole."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE, Open, Scene
from tests.browser.sight import Sight
from tests.browser.test_journeys import in_one_language, sign_in
from tests.web.workbook import read_workbook


def taken(page: Page, form: str, file: str) -> tuple[str, bytes]:
    """The name and the bytes of what the browser keeps."""
    page.select_option("#format", file)
    with page.expect_download() as kept:
        page.locator(f"{form} .button").click()
    return kept.value.suggested_filename, Path(kept.value.path()).read_bytes()


@pytest.mark.slow
@in_one_language("en")
def test_an_owner_takes_payments_away_as_both_files(scene: Scene, open_page: Open, sight: Sight, code: str) -> None:
    owner = scene.customer()
    asked = scene.act("account request", account=owner.account, name="مكتبة الشام", returnOrigins=scene.shop_url)
    scene.act("account approve", account=asked["account"])
    key = scene.act("key issue", account=asked["account"])["key"]
    payment = scene.payment(key, note="قهوة", metadata={"order": "A-7"})
    page = open_page(**PHONE)
    sign_in(page, scene, code, owner)
    page.goto(f"{scene.base_url}/business/{asked['account']}/exports")
    sight.see(page, "exports")
    form = f'main form[action="/business/{asked["account"]}/exports"]'
    name, file = taken(page, form, "csv")
    assert name.startswith(f"payments-{asked['account']}-")
    line, total = csv.DictReader(io.StringIO(file.decode("utf-8-sig"), newline=""))
    assert (line["payment_id"].replace(" ", ""), line["metadata.order"]) == (payment, "A-7")
    assert (total["payment_id"], total["created_at"]) == ("total", "1")
    name, file = taken(page, form, "xlsx")
    assert name.endswith(".xlsx")
    [sheet] = read_workbook(file)
    assert sheet.values[0]["note"] == "قهوة"
    page.fill("#to", "2001-01-01")
    with page.expect_navigation():
        page.locator(f"{form} .button").click()
    sight.see(page, "exports with a wrong day")
