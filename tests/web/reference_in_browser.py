"""`python -m tests.web.reference_in_browser ADDRESS` looks at the reference page with a browser and tells what it saw.

A program of its own: while Playwright's browser is open, no other event loop can run in the process.
"""

import json
import shutil
import sys
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, sync_playwright

PHONE = ViewportSize(width=360, height=740)
SHOWN = "elements => elements.filter(e => e.checkVisibility()).map(e => e.id || e.dataset.find)"


def look(browser: Browser, address: str) -> dict[str, Any]:
    """What a phone shows with and without JavaScript, and what a search finds."""
    faults: list[str] = []
    told: dict[str, Any] = {}

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(message.text)

    with browser.new_context(viewport=PHONE, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{address}/docs")
        told["formWithoutScript"] = page.locator(".docs-search").is_visible()
        told["callsWithoutScript"] = page.locator(".docs-call >> visible=true").count()
    with browser.new_context(viewport=PHONE) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", hear)
        page.goto(f"{address}/docs")
        told |= {"width": page.evaluate("document.documentElement.scrollWidth"), "form": page.is_visible("#search")}
        told |= {"calls": shown(page, ".docs-call"), "field": find(page, "refundedAmount")}
        told |= {"code": find(page, "wrong_pin"), "call": find(page, "sign in")}
        told |= {"again": find(page, ""), "nothing": find(page, "no such thing")}
        page.goto(f"{address}/docs#walletRemotePaymentsPay")
        told["top"] = page.evaluate("document.querySelector('#walletRemotePaymentsPay').getBoundingClientRect().top")
    return told | {"faults": faults}


def find(page: Page, wanted: str) -> dict[str, list[str]]:
    page.fill("#search", wanted)
    return {"calls": shown(page, ".docs-call"), "fields": shown(page, ".docs-call .field")}


def shown(page: Page, selector: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(selector, SHOWN)
    return found


if __name__ == "__main__":
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        print(json.dumps(look(started, sys.argv[1])))  # noqa: T201 - this is what it tells
