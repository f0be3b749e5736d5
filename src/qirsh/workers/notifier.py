"""Tells people of money that came or went: letters for what each new seal covers, written with the place in the chain.

Seals are followed because ids are not: a transfer may appear below one that was seen. A seal says which ids it covers,
and each transfer is covered by one seal.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

from typing import Final, NamedTuple

from qirsh.domain import seal
from qirsh.domain.commands.mail import Notify
from qirsh.domain.counter import NOTIFIED
from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import NOTICE_DIGEST_MS, NOTICE_LATE_MS, NOTICE_SEALS_AT_ONCE, NOTICES_AT_ONCE
from qirsh.domain.mail import Letter
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import Envelope, letter
from qirsh.store.integrity.hash_chain import TRANSFERS
from qirsh.store.interface import Query, Store
from qirsh.store.reads.bisect_by_time import last_before
from qirsh.workers.role import Role

_LOOK_EVERY_S: Final = 1.0

# By the kind of a transfer, and whether it took money from whom it is told.
_KINDS: Final = {
    ("pay", True): "paid",
    ("refund", False): "refunded",
    ("deposit", False): "deposited",
    ("withdrawal", True): "payout_paid",
    ("reversal", True): "deposit_reversed",
    ("reversal", False): "payout_returned",
    ("correction", True): "correction_taken",
    ("correction", False): "correction_added",
}
_SEALS_AFTER: Final = Query("SELECT number, at, content FROM seal WHERE number > $1 ORDER BY number LIMIT $2")
_SEALED_AT: Final = Query("SELECT at FROM seal WHERE number = $1")
_LAST_SEAL: Final = Query("SELECT coalesce(max(number), 0) FROM seal")
# A reversal or a correction goes either way: who is told is not the house.
_IS_DEBITED: Final = (
    "(t.kind IN ('pay', 'withdrawal') OR (t.kind IN ('reversal', 'correction')"
    " AND (SELECT a.kind FROM account a WHERE a.number = t.debit) <> 'house'))"
)
_OWN: Final = f"CASE WHEN {_IS_DEBITED} THEN t.debit ELSE t.credit END"
_OTHER: Final = f"CASE WHEN {_IS_DEBITED} THEN t.credit ELSE t.debit END"
# Of personal accounts, whose number a person has. A payout's letter was written when its order was confirmed.
_MOVED: Final = Query(
    "SELECT t.id, t.kind, t.amount, t.currency, t.payment, t.bank_order, other.number, other.name, l.email,"
    " p.language, t.created_at, CASE WHEN t.debit = own.number THEN 1 ELSE 0 END"
    f" FROM transfer t JOIN account own ON own.number = {_OWN} AND own.mode = 'live'"
    f" JOIN account other ON other.number = {_OTHER} JOIN person p ON p.account = own.number AND p.has_notices"
    " AND p.erased_at IS NULL JOIN login l ON l.person = p.id"
    " LEFT JOIN bank_order c ON c.house = other.number AND c.reference = t.bank_order"
    " WHERE t.id >= $1 AND t.id <= $2 AND t.created_at >= $3 AND c.payout IS NULL"
    f" AND t.kind IN {tuple(dict.fromkeys(kind for kind, _ in _KINDS))} ORDER BY t.id"
)


class _Moved(NamedTuple):
    """Money that came or went, and who is told."""

    id: int
    kind: str
    amount: int
    currency: str
    payment: int | None
    bank_order: str
    other: int
    other_name: str
    email: str
    language: str
    at: int
    is_debited: int


class Notifier:
    """Looks each second, while the role is its own. Two who tell of the same seal do no harm: the rules take one."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        clock: Clock,
        *,
        keyring: Keyring,
        entropy: Entropy,
        identifiers: Identifiers,
        base_url: str,
        digest_ms: int = NOTICE_DIGEST_MS,
    ) -> None:
        self._role = Role("notifier", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._keyring = keyring
        self._entropy = entropy
        self._identifiers = identifiers
        self._base_url = base_url
        self._digest_ms = digest_ms
        # Of what was there when the database was restored people were told before, also of what no seal covered yet.
        restore = store.instance.last_restore
        self._told_before = restore.last_transfer if restore else 0

    async def run(self) -> None:
        """Until it is cancelled. The next run begins where the last commit ended."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return 0.0 if await self.tell() else _LOOK_EVERY_S

    async def tell(self) -> bool:
        """Of the next few seals: whether there may be more at once."""
        counter = await self._store.find(Tables.counters, NOTIFIED)
        after = counter.last if counter else 0
        rows = await self._store.search(_SEALS_AFTER, after, NOTICE_SEALS_AT_ONCE)
        if not rows:
            return False
        now = self._clock()
        oldest = now - NOTICE_LATE_MS
        moved: list[_Moved] = []
        until = after
        if rows[-1][1] < oldest:
            # Nobody looked for long. What is no news any more is stepped over at once, however much there is of it.
            until = max(rows[-1][0], await self._last_before(oldest))
        else:
            for number, at, content in rows:
                moved += await self._moved(content, oldest) if at >= oldest else []
                until = number
                if len(moved) >= NOTICES_AT_ONCE:
                    break
            has_all = until == rows[-1][0] and len(rows) < NOTICE_SEALS_AT_ONCE
            if has_all and rows[0][1] > now - self._digest_ms and any(one.kind == "refund" for one in moved):
                return False  # A refund may be followed by others, to be told of in the same letter.
        await self._engine.submit(Notify(after, until, tuple(self._letters(moved))))
        return until < rows[-1][0] or len(rows) == NOTICE_SEALS_AT_ONCE

    async def _last_before(self, moment: int) -> int:
        async def time_of(number: int) -> int:
            [(at,)] = await self._store.select(_SEALED_AT, number)
            sealed_at: int = at
            return sealed_at

        [(last,)] = await self._store.select(_LAST_SEAL)
        return await last_before(moment, last, time_of)

    async def _moved(self, content: str, oldest: int) -> list["_Moved"]:
        """What this seal covers that is news, and whom to tell of it."""
        link = seal.read(content)
        if link is None:
            raise ValueError("a seal cannot be read")
        moved: list[_Moved] = []
        for cover in link.covers:
            if cover.table != TRANSFERS.table:
                continue
            ranges = [(cover.first, cover.last), *((late, late) for late in cover.late)]
            for begin, last in ranges:
                first = max(begin, self._told_before + 1)
                rows = await self._store.search(_MOVED, first, last, oldest) if first <= last else []
                # What has appeared in a gap since then is a later seal's.
                moved += [_Moved(*row) for row in rows if not any(low <= row[0] <= high for low, high in cover.missing)]
        return moved

    def _letters(self, moved: list["_Moved"]) -> list[Letter]:
        """One for each movement, but one for all refunds of a shop to a person."""
        refunds: dict[tuple[str, int, str], list[_Moved]] = {}
        for one in moved:
            if one.kind == "refund":
                refunds.setdefault((one.email, one.other, one.currency), []).append(one)
        letters = [self._letter(one) for one in moved if one.kind != "refund"]
        return letters + [self._letter(own[0]) if len(own) == 1 else self._digest(own) for own in refunds.values()]

    def _digest(self, refunds: list["_Moved"]) -> Letter:
        last = refunds[-1]
        words: dict[str, str | int] = {
            "amount": sum(one.amount for one in refunds),
            "currency": last.currency,
            "at": last.at,
            "payee": last.other_name,
            "count": len(refunds),
            "history_url": f"{self._base_url}/wallet/history",
        }
        return letter(self._keyring, self._entropy, Envelope(last.email, last.language, "refunded_several", words))

    def _letter(self, moved: "_Moved") -> Letter:
        words: dict[str, str | int] = {"amount": moved.amount, "currency": moved.currency, "at": moved.at}
        if moved.payment is not None:
            payment_id = self._identifiers.payment_id(moved.payment)
            address = f"{self._base_url}/pay/{payment_id}"
            words |= {"payee": moved.other_name, "payment": payment_id, "receipt_url": address}
        elif moved.kind != "deposit":
            words["reference"] = moved.bank_order
        kind = _KINDS[moved.kind, bool(moved.is_debited)]
        return letter(self._keyring, self._entropy, Envelope(moved.email, moved.language, kind, words))
