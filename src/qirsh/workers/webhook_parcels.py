"""Events as they are sent: the bytes that GET returns, made once for all endpoints of an account."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from qirsh.contract.views import data, event_view
from qirsh.domain.identifier import Identifiers
from qirsh.domain.tables import Tables
from qirsh.store.interface import Store
from qirsh.store.reads import events

_KEPT_MAX: Final = 2000
_KEPT_BYTES_MAX: Final = 16 * 1024 * 1024


class Parcel(msgspec.Struct, frozen=True):
    """One event."""

    sequence: int
    id: str
    type: str
    body: bytes


class Parcels:
    """Reads events, and keeps the latest that were read: endpoints of one account mostly stand side by side."""

    def __init__(
        self, store: Store, identifiers: Identifiers, base_url: str, *, kept_bytes_max: int = _KEPT_BYTES_MAX
    ) -> None:
        self._store = store
        self._identifiers = identifiers
        self._base_url = base_url
        self._kept_bytes_max = kept_bytes_max
        self._kept: OrderedDict[tuple[int, int], Parcel] = OrderedDict()
        self._kept_bytes = 0
        self._is_live: dict[int, bool] = {}  # An account's mode never changes.

    async def page(self, account: int, first: int, limit: int) -> list[Parcel]:
        """Events from this number on, of all types, without a gap."""
        found: list[Parcel] = []
        while len(found) < limit and (kept := self._kept.get((account, first + len(found)))) is not None:
            found.append(kept)
        if found:
            return found
        rows = await self._store.search(events.EVENTS_AFTER, account, first - 1, limit)
        is_live = await self._mode(account)
        for row in rows:
            told = events.told_event(account, row)
            payment_id = self._identifiers.payment_id(told.payment.number)
            body = data(event_view(told, payment_id, base_url=self._base_url, is_live=is_live))
            found.append(Parcel(told.sequence, told.id, told.type, body))
        for parcel in found:
            self._keep(account, parcel)
        return found

    async def some(self, account: int, sequences: Sequence[int]) -> list[Parcel]:
        """These, lowest first; of a replay they mostly stand side by side."""
        wanted, found = sorted(sequences), list[Parcel]()
        while wanted:
            run = 1
            while run < len(wanted) and wanted[run] == wanted[0] + run:
                run += 1
            page = await self.page(account, wanted[0], run)
            assert page, "a row tells of an event that is not there"
            found += page
            del wanted[: len(page)]
        return found

    async def _mode(self, account: int) -> bool:
        if account not in self._is_live:
            found = await self._store.find(Tables.accounts, account)
            assert found is not None, "events of an account that is not there"
            self._is_live[account] = found.mode == "live"
        return self._is_live[account]

    def _keep(self, account: int, parcel: Parcel) -> None:
        # A page that begins before what is kept brings it once more.
        if (before := self._kept.pop((account, parcel.sequence), None)) is not None:
            self._kept_bytes -= len(before.body)
        self._kept[account, parcel.sequence] = parcel
        self._kept_bytes += len(parcel.body)
        while len(self._kept) > _KEPT_MAX or self._kept_bytes > self._kept_bytes_max:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest.body)
