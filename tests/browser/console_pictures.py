"""Small pictures of the operator console on a desktop, in each language, for docs/screens.md: `make screenshots`.

Each language has a service of its own, so that they change nothing in each other's pictures, nor in those of others.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

from qirsh.engine.entropy import SeededEntropy
from qirsh.language.catalog import LANGUAGES
from tests.browser.console_town import ConsoleTown, console_town
from tests.browser.pictures import Frame, take

_FRAME: Final = Frame(1280, 800, 880, 45_000)


def console_screens(page: Page, town: ConsoleTown) -> Iterator[str]:
    """The name of each screen, when it is open."""
    found = town.found
    town.sign_in(page)
    for name, path in (
        ("home", ""),
        ("identity", f"/identities/{found.identity}"),
        ("business", f"/businesses/{found.business}"),
        ("proposal", f"/proposals/{found.proposal}"),
        ("ledger", "/ledger"),
        ("bank", "/bank"),
    ):
        page.goto(f"{town.base_url}/operator{path}")
        yield f"console-{name}"


def main(folder: Path) -> None:
    """All of them, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium-headless-shell"))
        for code in LANGUAGES:
            with (
                tempfile.TemporaryDirectory(prefix="qirsh-") as data,
                console_town(Path(data), code, SeededEntropy(1)) as town,
                browser.new_context(device_scale_factor=2, locale=code) as context,
            ):
                page = context.new_page()
                for name in console_screens(page, town):
                    take(page, _FRAME, folder / f"{code}-{name}.webp")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
