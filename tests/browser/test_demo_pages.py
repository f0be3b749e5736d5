"""The page of the demo's own receiver of webhooks, beside the real demo: empty, with what came, and what is forged."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import PHONE, patient
from tests.browser.sight import Sight
from tests.browser.test_journeys import in_one_language
from tests.cli.conftest import LAST_LINE
from tests.cli.demo.test_demo_webhooks import happen, refused, shown
from tests.cli.program import House, Running

DESK = {"viewport": {"width": 1280, "height": 740}}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> House:
    """At rest."""
    house = House(tmp_path_factory.mktemp("demo") / "d")
    with house.serving("demo", until=LAST_LINE):
        return house


class Beside(NamedTuple):
    """A demo that runs since a moment, so that nothing has come yet."""

    house: House
    running: Running


@pytest.fixture
def beside(demo: House) -> Iterator[Beside]:
    with demo.serving("demo", until=LAST_LINE) as running:
        yield Beside(demo, running)


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@in_one_language("ar")
def test_the_receivers_page_is_whole(
    browser: Browser, beside: Beside, sight: Sight, code: str, size: dict[str, object]
) -> None:
    with patient(browser.new_context(**size, locale=code)) as context:  # type: ignore[arg-type]
        page = context.new_page()
        address = f"{beside.running.url}/demo/webhooks"
        page.goto(address)
        sight.see(page, "empty")
        assert refused(beside.running, b'{"data":{"type":"remote_payment.paid"}}') == 400
        shown(beside.running, happen(*beside))
        page.goto(address)
        sight.see(page, "arrived")
