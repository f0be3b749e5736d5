"""Worlds that the tests of the web share: starting and settling one costs more than most tests."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.live import InProcess, Live, World, in_process, live
from tests.postgres import PostgresServer
from tests.web.webhooks import OWN_NETWORKS


@pytest.fixture(scope="session")
def world(engine: PostgresServer | None) -> Iterator[Live]:
    """A served world. Whoever changes what others rely on takes a customer or merchant of their own."""
    with live(engine, shops=8, people=40, more=OWN_NETWORKS, is_watched=True) as served:
        yield served
        # Whatever the tests sent, nothing was logged as a failure.
        assert served.complaints() == []


@pytest.fixture(scope="module")
def still(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world in process, whose clock stands still until it is moved."""
    with in_process(engine, shops=8, people=30, more=OWN_NETWORKS) as held:
        yield held


@pytest.fixture(params=["served", "in process"])
def anywhere(request: pytest.FixtureRequest, engine: PostgresServer | None) -> World:  # noqa: ARG001 - both need it
    """In process all calls of one moment share a batch; served they spread over some. Both must be right."""
    chosen = request.getfixturevalue("world" if request.param == "served" else "still")
    assert isinstance(chosen, World)
    return chosen


# All of it is asked of SQLite. Of PostgreSQL it is asked each time as far as the store can matter, and the rest in the
# long run.
#
# What is counted and fought over: every case.
_OF_THE_STORE: Final = frozenset(
    {
        "test_bank.py",
        "test_payment_indexer.py",
        "test_export_reads.py",
        "test_model.py",
        "test_processes.py",
        "test_races.py",
        "test_refund_races.py",
        "test_same_answers.py",
    }
)
# What is decided before a database is asked: nothing but the pages, each of which has SQL of its own.
_BEFORE_ANY_DATABASE: Final = frozenset(
    {
        "test_access.py",
        "test_bad_input.py",
        "test_page_access.py",
        "test_pay_page_guards.py",
        "test_rate_limit_served.py",
    }
)
# How a page shows what others have asked of both engines: the first test of a file.
_AFTER_ANY_DATABASE: Final = frozenset(
    {
        "test_demo_mail.py",
        "test_demo_webhooks.py",
        "test_outside.py",
        "test_sign_in.py",
        "test_payment_status.py",
        "test_language.py",
        "test_passkey_page.py",
        "test_pay_endings.py",
        "test_pay_page.py",
        "test_pay_passkey.py",
        "test_receipt.py",
        "test_settings_page.py",
        "test_statement_page.py",
    }
)
# Pages, whose reads and commands have tests of their own on both engines: every third test of a file.
_ROOMS_OF_PAGES: Final = frozenset({"account", "business", "operator", "wallet"})
_EVERY: Final = 3
# Many people who are nobody, or who are refused: the work is that of their passwords, or of counting them.
_OF_MANY: Final = frozenset(
    {"test_nobody_fills_the_list_of_a_shop", "test_payments_flow_while_many_people_sign_in_at_once"}
)
_HERE: Final = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before those that are slow are left out. Of all other tests PostgreSQL gets one case each."""
    met: set[tuple[str, str]] = set()
    pages: defaultdict[Path, list[str]] = defaultdict(list)
    for item in items:
        name, _, case = item.name.partition("[")
        if not case.startswith("postgresql"):
            continue
        file = item.path.name
        if file in _OF_THE_STORE or _HERE not in item.path.parents:
            continue
        thing = (file, "" if file in _AFTER_ANY_DATABASE else name)
        tests = pages[item.path]
        if name not in tests:
            tests.append(name)
        is_passed_by = item.path.parent.name in _ROOMS_OF_PAGES and tests.index(name) % _EVERY
        is_chosen = "is_shown_to_whom" in name if file in _BEFORE_ANY_DATABASE else thing not in met
        if not is_chosen or is_passed_by or name in _OF_MANY:
            item.add_marker(pytest.mark.slow)
        met.add(thing)
