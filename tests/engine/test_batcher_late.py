"""A caller is kept waiting for so long and no longer, and what is said then is true."""

import asyncio
from pathlib import Path

from qirsh.domain.refusal import granted
from qirsh.engine.batcher import CALLER_LOOKS_MAX
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from tests.engine.watched import Desk, house, run, settled


def test_a_late_caller_hears_that_it_is_unknown_or_that_nothing_was_done(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        under_way = await desk.close_door()
        [queued] = await desk.queue(house("queued"))
        for _ in range(CALLER_LOOKS_MAX):
            desk.engine.answer_late_callers()
        await asyncio.sleep(0)
        assert not under_way.done()
        assert not queued.done()
        desk.engine.answer_late_callers()
        first, second = await settled(under_way, queued)
        assert (type(first), type(second)) == (OutcomeUnknown, StoreUnavailable)
        [later] = await desk.queue(house("later"))
        desk.store.door.set()
        assert granted(await later).name == "later"
        assert desk.houses() == {"busy", "later"}

    run(tmp_path, scene)
