"""Settings and servers that tests share."""

import gc
import os
import shutil
import signal
import tempfile
from itertools import product
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import text

from tests.forked import make_ready, mother
from tests.live import settled_once
from tests.postgres import PostgresServer, installations, shared_server

# Every commit waits for its disk, and most of the run would be that. The settings of the databases stay as they are.
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - folders in it are made as anywhere else
_ROOM_BYTES: Final = 4 << 30
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# A shell that starts the tests in the background has them ignore it, and so would the programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    stateful_step_count=30,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples as well, the first of them only: for each change. The long run has all.
settings.register_profile("short", settings.get_profile("ci"), max_examples=10, stateful_step_count=15)
settings.register_profile("dev", deadline=None, max_examples=30, stateful_step_count=20)
# "ci" repeats the same examples for ever; this one looks for new ones, by hand or at night.
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=2000,
    stateful_step_count=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Always loaded by name: where CI is set, Hypothesis would otherwise load a "ci" profile of its own.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """A server for all tests that share one; each has a database of its own."""
    return shared_server()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> PostgresServer | None:
    """Where worlds keep their data: in files, or with a server. The answers are the same."""
    return shared_server() if request.param == "postgresql" else None


@pytest.hookimpl(tryfirst=True)  # Before those that are slow are left out.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of pages, calls and workers run on SQLite, and on PostgreSQL only where they are marked `both_engines`.

    The tests of `store` hold the stores themselves to the same. The long run has every test on both engines.
    """
    for item in items:
        place, _, name = item.nodeid.partition("::")
        is_on_postgres = "postgresql" in name.partition("[")[2]
        is_above_the_store = place.startswith(("tests/web/", "tests/workers/", "tests/fuzz/"))
        if is_on_postgres and is_above_the_store and item.get_closest_marker("both_engines") is None:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests are there to stay: to look for garbage among them took a tenth of the run."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_before_fork(items: list[pytest.Item]) -> None:
    """What most of them begin with, which takes longer to make than most of them run."""
    mother()
    make_ready()
    find(text(), lambda _: True, settings=settings(database=None))  # Its tables of Unicode take two seconds.
    on_postgres = [shared_server()] if any("postgresql" in item.name for item in items) else []
    for server, is_empty, is_now in product([None, *on_postgres], (False, True), (False, True)):
        settled_once(server, is_empty=is_empty, is_now=is_now)
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """Which servers the store is held to."""
    return f"PostgreSQL: {', '.join(installations())}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """At the end, where it is seen."""
    if len(installations()) == 1:
        terminalreporter.write_line("NOT TESTED: Debian's PostgreSQL. As root: apt-get install postgresql", red=True)
