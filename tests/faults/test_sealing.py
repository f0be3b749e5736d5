"""The process that seals is killed: another goes on with the same chain."""

import signal

import pytest

from tests.faults.sealed import wait_until_sealed
from tests.faults.several import Several

# In each run the one that seals is killed under load, in `test_processes.py`.
pytestmark = pytest.mark.slow


def test_one_chain_goes_on_when_the_process_that_seals_is_killed(several: Several) -> None:
    shop = several.merchants[0].account
    wait_until_sealed(several)
    for _ in range(2):
        killed = several.player("sealer")
        several.act("account suspend", account=shop, reason="before the kill")
        several.processes[killed].send_signal(signal.SIGKILL)
        several.processes[killed].wait()
        several.spawn(killed)
        several.run(several.ready())
        several.act("account resume", account=shop, reason="after the kill")
        wait_until_sealed(several)
