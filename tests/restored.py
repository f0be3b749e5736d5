"""A world whose database was put back to an earlier time."""

from typing import Any

from qirsh.domain.restore import Restore
from qirsh.store.record_restore import record_restore
from tests.live import InProcess


def restore(world: InProcess, *, ago_ms: int = 60_000, **more: Any) -> Restore:  # noqa: ANN401 - as it takes them
    """Recorded as the command does it, and started after it. What a test has changed of its parts is gone."""
    made = world.run(record_restore(world.context.store, world.now_ms() - ago_ms, "os user root", **more))
    world.reopen()
    return made
