"""What is decided on is held while it is: a command that meets another's change of its row waits, and sees it."""

import asyncio
from typing import Any, Final

import asyncpg
import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payout import CancelPayout, RefusePayout
from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.refusal import Refusal, Refused
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.postgres.store import open_postgres
from tests.domain.webhook_cases import failure
from tests.domain.world import ENTROPY_SEED
from tests.store.filled import FILLED, confirming
from tests.store.postgres.watching import WAITING, until_true

_ENDED: Final = "UPDATE payout SET state = 'cancelled', bank_sealed = '' WHERE id = 'po_1'"
_CONFIRMED: Final = (
    f"UPDATE proposal SET state = 'done', decided_by = {FILLED.second.id}, decided_at = 1"  # noqa: S608 - ours
    f" WHERE id = '{FILLED.asked.id}'"
)
_CHANGED: Final = f"UPDATE proposal SET reason = 'another', editors = '1' WHERE id = '{FILLED.asked.id}'"  # noqa: S608 - ours
_ORDER: Final = FILLED.ask(reference="new", kind="withdrawal", currency="EUR", amount=700, payout="po_1")
# What another does meanwhile, and what the command then hears.
_MEANWHILE: Final[dict[str, tuple[str, Any, Refusal]]] = {
    "a proposal is confirmed": (_CONFIRMED, FILLED.confirm(FILLED.asked.id), Refusal.ALREADY_DECIDED),
    "a proposal is changed": (_CHANGED, FILLED.confirm(FILLED.asked.id), Refusal.CHANGED_MEANWHILE),
    "a payout is cancelled that its owner cancels": (
        _ENDED,
        CancelPayout("po_1", FILLED.customer.id),
        Refusal.MOVE_NOT_ALLOWED,
    ),
    "a payout is cancelled that an operator refuses": (
        _ENDED,
        RefusePayout(id="po_1", reason="no", operator=FILLED.first.id, actor="test"),
        Refusal.MOVE_NOT_ALLOWED,
    ),
    "a payout is cancelled that an operator orders": (_ENDED, _ORDER, Refusal.MOVE_NOT_ALLOWED),
}


async def submitted(store: Any, command: Any) -> Any:  # noqa: ANN401 - of any command
    batch = Batch([Submission(command)])
    await store.transact(batch)
    return batch.outcomes[0]


async def _met(url: str, sql: str, command: Any) -> Any:  # noqa: ANN401 - of any command
    """The command's outcome, which comes while another's change is under way."""
    store = await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 1))
    outsider, watcher = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        # It is of the service's own kind, and has asked no guard: those would want the transfers as well.
        await outsider.execute(f"BEGIN; SET LOCAL session_replication_role = replica; {sql}")
        waits = asyncio.create_task(submitted(store, command))
        await until_true(watcher, WAITING, waits)
        await outsider.execute("COMMIT")
        return await waits
    finally:
        await outsider.close()
        await watcher.close()
        await store.close()


@pytest.mark.parametrize("name", _MEANWHILE)
def test_a_command_sees_what_another_did_to_its_row_while_it_waited(url: str, name: str) -> None:
    sql, command, refusal = _MEANWHILE[name]
    assert asyncio.run(_met(url, sql, command)) == Refused(refusal)


def test_an_order_is_not_confirmed_whose_payout_is_refused_meanwhile(url: str) -> None:
    async def scene() -> Any:  # noqa: ANN401 - of any command
        store = await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 2))
        asked = await submitted(store, _ORDER)
        await store.close()
        refused = "UPDATE payout SET state = 'refused', bank_sealed = '' WHERE id = 'po_1'"
        return await _met(url, refused, confirming(asked))

    assert asyncio.run(scene()) == Refused(Refusal.MOVE_NOT_ALLOWED)


def test_of_two_senders_the_second_sees_what_the_first_has_recorded(url: str) -> None:
    first = (
        "SELECT 1 FROM webhook_queue WHERE endpoint = 'we_1' FOR NO KEY UPDATE;"
        " INSERT INTO webhook_delivery VALUES ('we_1', 6, 'delivered', 1, 1, NULL, 1, 5, 1, 200, '', '')"
    )
    assert asyncio.run(_met(url, first, RecordWebhookResults((failure(6, 9),)))) == 0
