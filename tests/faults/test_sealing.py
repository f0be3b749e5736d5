"""The process that seals is killed: another goes on with the same chain."""

import signal
from typing import Final

from tests.faults.sealed import is_sealed
from tests.faults.several import Several
from tests.live import wait_until

_START_S_MAX: Final = 15.0
# A lease of 4 s, a look for it each second, two looks of the sealer, and a machine with other work.
_SEALED_AFTER_KILL_S_MAX: Final = 12.0
_IS_SEALER: Final = "this process is now the sealer"


def holder(several: Several) -> int:
    """The number of the process that was the last to become the sealer; its log begins each line with the time."""
    since = []
    for place in several.places:
        lines = (place.data_dir / "server.log").read_text().splitlines()
        since.append(max((line for line in lines if _IS_SEALER in line), default=""))
    assert any(since), "nobody is"
    return since.index(max(since))


def test_one_chain_goes_on_when_the_process_that_seals_is_killed(several: Several) -> None:
    shop = several.merchants[0].account
    wait_until(lambda: is_sealed(several), _SEALED_AFTER_KILL_S_MAX)
    for _ in range(2):
        killed = holder(several)
        several.act("account suspend", account=shop, reason="before the kill")
        several.processes[killed].send_signal(signal.SIGKILL)
        several.processes[killed].wait()
        several.spawn(killed)
        several.run(several.ready(_START_S_MAX))
        several.act("account resume", account=shop, reason="after the kill")
        wait_until(lambda: is_sealed(several), _SEALED_AFTER_KILL_S_MAX)
    several.verify()
