"""Settings that every test shares."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import installations

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
settings.register_profile("short", settings.get_profile("ci"), max_examples=25, stateful_step_count=20)
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


def pytest_report_header() -> str:
    """Which servers the store is held to."""
    return f"PostgreSQL: {', '.join(installations())}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """At the end, where it is seen."""
    if len(installations()) == 1:
        terminalreporter.write_line("NOT TESTED: Debian's PostgreSQL. As root: apt-get install postgresql-15", red=True)
