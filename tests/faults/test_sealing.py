"""The process that seals is killed: another goes on with the same chain."""

import signal
from typing import Final

from tests.faults.sealed import is_sealed
from tests.faults.several import Several
from tests.live import wait_until

# A lease of 4 s, a look for it each second, two looks of the sealer, and a machine with other work.
_SEALED_AFTER_KILL_S_MAX: Final = 60.0


def test_one_chain_goes_on_when_the_process_that_seals_is_killed(several: Several) -> None:
    shop = several.merchants[0].account
    wait_until(lambda: is_sealed(several), _SEALED_AFTER_KILL_S_MAX)
    for _ in range(2):
        killed = several.player("sealer")
        several.act("account suspend", account=shop, reason="before the kill")
        several.processes[killed].send_signal(signal.SIGKILL)
        several.processes[killed].wait()
        several.spawn(killed)
        several.run(several.ready())
        several.act("account resume", account=shop, reason="after the kill")
        wait_until(lambda: is_sealed(several), _SEALED_AFTER_KILL_S_MAX)
    several.verify()
