"""What a run does on one engine: a file of the bank, pages beside those of a small service, pays."""

import asyncio
import time
from contextlib import closing
from typing import Final

import msgspec

from bench.audit import require_clean
from bench.console.bank import BankTimes
from bench.console.browser import ConsoleBrowser
from bench.console.doors import open_doors
from bench.console.ground import Desk
from bench.console.pages import pages_of
from bench.dashboard.browser import Times, load_all
from bench.dashboard.exports import Whole
from bench.dashboard.pages import Page
from bench.dashboard.pays import paying
from bench.dashboard.people import Doors as ShopDoors
from bench.dashboard.people import open_doors as open_shop_doors
from bench.display import Display
from bench.failure import BenchFailed
from bench.lists import wait_until_quiet
from bench.target import Server, running_service
from qirsh.domain.money import CURRENCIES

_SETTLE_S_MAX: Final = 1800  # For all that was filled in past the service.
ROUNDS: Final = 40
ROUNDS_QUICK: Final = 10


class Outcome(msgspec.Struct, frozen=True):
    """What was measured on one engine, on books that balanced afterwards."""

    version: str
    pages: list[Page]
    quiet: dict[str, Times]
    few: dict[str, Times]  # The same pages of a service with a hundredth of everything.
    loaded: dict[str, Times]  # While payments come in.
    pays: Times  # Those, beside the pages.
    bank: BankTimes
    bank_few: BankTimes
    log_lines: int
    log: Whole


def carry_out(large: Desk, small: Desk, rounds: int, display: Display) -> Outcome:
    """All of it. Raises `BenchFailed` when the numbers would mean nothing."""
    name = large.ground.version
    display.say(f"{name}: a file of the bank with {large.size.bank_lines:,} lines")
    doors, few_doors = open_doors(large), open_doors(small)
    customers = _customers(large)
    # Of so few payments, none may have been refunded.
    pages, few_pages = pages_of(large, doors), [page for page in pages_of(small, few_doors) if page.addresses]
    with (
        running_service(large.ground.data_dir, **large.ground.settings) as server,
        running_service(small.ground.data_dir, **small.ground.settings) as few_server,
    ):
        display.say(f"{name}: waiting until all is sealed and counted")
        for one, desk in ((server, large), (few_server, small)):
            _settle(one, desk)
        with (
            closing(ConsoleBrowser(server, doors.operator)) as browser,
            closing(ConsoleBrowser(few_server, few_doors.operator)) as few_browser,
        ):
            display.say(f"{name}: {len(pages)} pages, and the same of a service with little")
            quiet, few = load_all([(browser, pages), (few_browser, few_pages)], rounds)
            display.say(f"{name}: the same while payments come in")
            loaded, pays = _loaded(large, server, customers, browser=browser, pages=pages, rounds=rounds)
            wait_until_quiet(server)
            display.say(f"{name}: the audit log as a file")
            browser.log_as_csv()  # The first one warms what the next finds warm.
            log_lines, log = browser.log_as_csv()
    display.say(f"{name}: verifying the books")
    require_clean(large.ground.address)
    return Outcome(
        version=name,
        pages=pages,
        quiet=quiet,
        few=few,
        loaded=loaded,
        pays=pays,
        bank=doors.bank,
        bank_few=few_doors.bank,
        log_lines=log_lines,
        log=log,
    )


def _customers(desk: Desk) -> ShopDoors:
    """Who pays, signed in anew: sessions of an earlier run may have ended."""
    filled = desk.ground.filled
    owners = (filled.large.shop.owner, filled.small.shop.owner)
    return asyncio.run(open_shop_doors(desk.ground.read_settings(), filled.town, owners))


def _loaded(
    desk: Desk, server: Server, customers: ShopDoors, *, browser: ConsoleBrowser, pages: list[Page], rounds: int
) -> tuple[dict[str, Times], Times]:
    key = desk.ground.filled.town.shops[0].key
    with paying(server, key, customers.customers, desk.ground.data_dir) as pays:
        began = time.monotonic()
        [found] = load_all([(browser, pages)], rounds, warm=0)
        end = time.monotonic()
        time.sleep(1)  # What was due in the last moment is paid by then.
        return found, pays.between(began, end)[1]


def _settle(server: Server, desk: Desk) -> None:
    """The worker that counts rests between its commits: a quiet service may still have something to count."""
    wait_until_quiet(server, _SETTLE_S_MAX)
    shop = desk.ground.filled.large.shop.account
    end = time.monotonic() + _SETTLE_S_MAX
    while any(desk.ground.books.behind(shop, currency, 2**62)[0] for currency in CURRENCIES):
        if time.monotonic() > end:
            raise BenchFailed("the totals are not counted")
        time.sleep(1)
