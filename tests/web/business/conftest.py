"""A service that sends mail: without it nobody is invited, and nobody is told."""

import pytest

from tests.live import InProcess


@pytest.fixture(autouse=True)
def _mail(request: pytest.FixtureRequest) -> None:
    if "still" in request.fixturenames:
        still: InProcess = request.getfixturevalue("still")
        if not still.context.has_mail:
            still.change(has_mail=True)
