"""A restore as a store would record it, of whatever a small world has."""

from typing import Any

from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.commands.restore import RecordRestore
from qirsh.domain.constant import EPOCH
from tests.domain.world import World


def restoring(world: World, **changes: Any) -> RecordRestore:  # noqa: ANN401 - the fields of the command
    """All that is under way ends."""
    world.do(FixConstant(EPOCH, b"0"))  # As the first start of a store does.
    fields: dict[str, Any] = {
        "taken_at": world.now - 1000,
        "done_by": "os user root",
        "last_transfer": len(world.transfers),
        "last_seal": max(world.seals, default=0),
        "last_stop": max(world.stops, default=0),
        "sessions": tuple(world.sessions),
        "operator_sessions": tuple(world.operator_sessions),
        "challenges": tuple(world.challenges),
        "resets": tuple(key for key, row in world.pending_resets.items() if row.state == "waits"),
        "mails": tuple(world.mails),
        "leases": tuple(world.leases),
        "queues": tuple((queue.endpoint, queue.account) for queue in world.webhook_queues.values()),
        "deliveries": tuple(key for key, row in world.webhook_deliveries.items() if row.state == "waiting"),
    }
    return RecordRestore(**fields | changes)
