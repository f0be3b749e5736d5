"""The drill that `make drill` runs, with few payments."""

from pathlib import Path

import pytest

from tests.cli.program import House
from tests.drill.drill import Drill, Outside
from tests.faults.webhook_receiver import webhook_receiver
from tests.postgres import shared_server
from tests.workers.post_office import post_office


@pytest.mark.slow
def test_what_a_restored_service_gives_and_tells_is_new(house: House, tmp_path: Path) -> None:
    said: list[str] = []
    with webhook_receiver() as receiver, post_office() as office, shared_server().database() as url:
        Drill(house, tmp_path, Outside(receiver, office), said.append, payments=10).run(url)
    assert "SQLite: stopped, and every rule holds" in said[-1]
