"""Lists of a merchant's payments, newest first, as SQL that both engines speak.

Whatever is asked, a page looks at a bounded number of rows: it may come back short, and says how to go on.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

import asyncio
from collections.abc import Sequence
from typing import Final, Self

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES, Payment
from qirsh.domain.payment_index import INDEXED_TOGETHER_MS, PLACE_BYTES, PaymentPlace, places_in
from qirsh.domain.payment_word import amount_word, text_word, words_of
from qirsh.domain.tables import Tables
from qirsh.store.interface import Query, Store
from qirsh.store.reads import account_entries

END_OF_TIME: Final = 2**62
_REFUNDED: Final = "refunded_amount"  # Above zero; all else that is asked for is equal to something.
_LOADED_AT_ONCE: Final = 64  # Payments of a payer, until a page is full.
_LOOKED_UP: Final = Query(
    f"SELECT {', '.join(Tables.payments.columns)} FROM payment"
    f" WHERE number IN ({', '.join(f'${place}' for place in range(1, _LOADED_AT_ONCE + 1))})"
)
_PROBED: Final = 100  # Rows under each word, to tell which is the rarest.


class PaymentFilter(msgspec.Struct, frozen=True):
    """Which payments: all that is not None, empty or false must hold."""

    merchant: int
    status: str | None = None
    currency: str | None = None
    reference: str | None = None
    created_after: int = -1  # Neither end is included.
    created_before: int = END_OF_TIME
    metadata: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()  # As `words_in` folds them.
    amount: int | None = None
    payer: int | None = None
    is_refunded: bool = False  # Some of it, or all.
    number: int | None = None  # At most this one.

    @property
    def is_impossible(self) -> bool:
        """Only what was paid has a payer, and can be refunded."""
        return self.status not in {None, "paid"} and (self.is_refunded or self.payer is not None)


class FoundPayments(msgspec.Struct, frozen=True):
    """Numbers of payments, in order, and after which payment to go on; None at the end."""

    numbers: list[int]
    next: PaymentPlace | None


class _Search:
    """A query in the making: arguments are numbered in the order in which they are written."""

    def __init__(self, wanted: PaymentFilter, begin: PaymentPlace, looked_at: int) -> None:
        self.sql = Query("")
        self.arguments: list[object] = [wanted.merchant]
        self.looked_at = looked_at
        self._wanted = wanted
        self._begin = begin

    def argument(self, value: object) -> str:
        self.arguments.append(value)
        return f"${len(self.arguments)}"

    def older(self, number: str) -> str:
        """The rest of a query along an index: below the cursor, newest first, so many."""
        after, at, before, most = map(self.argument, (self._wanted.created_after, *self._begin, self.looked_at))
        return (
            f"created_at > {after} AND (created_at, {number}) < ({at}, {before})"
            f" ORDER BY created_at DESC, {number} DESC LIMIT {most}"
        )

    def under(self, word: str) -> str:
        """Rows under a word: so many whose newest payment is below the cursor.

        And those of the cursor's second whose newest is above it: some of their others may be below.
        """
        at, number = self._begin
        until = (at // INDEXED_TOGETHER_MS + 1) * INDEXED_TOGETHER_MS
        rows = (
            "SELECT created_at, payment, earlier FROM payment_word"
            f" WHERE merchant = $1 AND word = {self.argument(word)}"
        )
        return (
            f"SELECT * FROM ({rows} AND {self.older('payment')}) AS below"
            f" UNION ALL {rows} AND length(earlier) > 0"
            f" AND (created_at, payment) >= ({self.argument(at)}, {self.argument(number)})"
            f" AND created_at < {self.argument(until)}"
        )

    def finish(self, candidates: str, columns: dict[str, object]) -> Self:
        """The candidates, each with whether all else that a column tells holds too."""
        held = _held(columns, self.arguments)
        # Never EXISTS: PostgreSQL may gather all payments of a status first, to look up a few hundred.
        is_match = f"(SELECT {' AND '.join(held)} FROM payment WHERE number = c.number)" if held else "1 = 1"
        self.sql = Query(
            f"WITH c AS ({candidates}) SELECT c.created_at, c.number, {is_match} AS is_match"
            " FROM c ORDER BY c.created_at DESC, c.number DESC"
        )
        return self


async def search_payments(store: Store, wanted: PaymentFilter, after: PaymentPlace | None, limit: int) -> FoundPayments:
    """One page."""
    begin = min(PaymentPlace(wanted.created_before, 0), after or PaymentPlace(END_OF_TIME, 0))
    if wanted.is_impossible:
        return FoundPayments([], None)
    if wanted.number is not None:
        return await _single(store, wanted, begin, wanted.number)
    found = []
    if wanted.payer is not None:
        found.append(await _of_payer(store, wanted, begin, wanted.payer, limit))
        if found[0].next is None or len(found[0].numbers) == limit:
            return found[0]
    words = await _rarest_first(store, wanted, begin, _asked_words(wanted))
    if words is None:
        return FoundPayments([], None)
    ways = [_run(store, wanted, search, limit) for search in _searches(wanted, begin, words, limit)]
    if words and wanted.reference is None:
        ways.append(_along_word(store, wanted, begin, words, limit))
    found += await asyncio.gather(*ways)
    return max(found, key=_progress)


def _progress(page: FoundPayments) -> tuple[bool, int, tuple[int, int]]:
    """How far a page got: to the end, or to more payments, or at least further back."""
    if page.next is None:
        return True, len(page.numbers), (0, 0)
    return False, len(page.numbers), (-page.next.created_at, -page.next.number)


def fits(payment: Payment, wanted: PaymentFilter) -> bool:
    """Whether the payment is what is asked for, by a look at itself."""
    is_alike = (
        payment.merchant == wanted.merchant
        and wanted.number in {None, payment.number}
        and wanted.status in {None, payment.status}
        and wanted.currency in {None, payment.currency}
        and wanted.reference in {None, payment.reference}
        and wanted.amount in {None, payment.amount}
        and wanted.payer in {None, payment.payer}
        and wanted.created_after < payment.created_at < wanted.created_before
        and payment.refunded_amount >= wanted.is_refunded
    )
    if not is_alike or not (wanted.metadata or wanted.words):
        return is_alike
    metadata = msgspec.json.decode(payment.metadata)
    return all(metadata.get(key) == value for key, value in wanted.metadata) and (
        not wanted.words
        or set(wanted.words) <= {*words_of(note=payment.note, reference=payment.reference, metadata=metadata)}
    )


def _asked_words(wanted: PaymentFilter) -> list[str]:
    """Each payment that is asked for is written down under all of them."""
    amounts = [] if wanted.amount is None else [amount_word(wanted.amount)]
    return list(dict.fromkeys([*amounts, *wanted.words, *(text_word(text) for _, text in wanted.metadata)]))


def _searches(wanted: PaymentFilter, begin: PaymentPlace, words: list[str], limit: int) -> list[_Search]:
    """Along the one index that is surely narrow; else along several, because which is the narrow one nobody knows."""
    if wanted.reference is not None:
        return [_along_reference(wanted, begin, words, limit)]
    searches = []
    if wanted.is_refunded:
        searches.append(_along_refunded(wanted, begin, words, limit))
    if wanted.status or wanted.currency or not (searches or words):
        searches.append(_along_ranges(wanted, begin, words, limit))
    return searches


def _along_reference(wanted: PaymentFilter, begin: PaymentPlace, words: list[str], limit: int) -> _Search:
    columns = _columns(wanted, "status", "currency", "payer", _REFUNDED)
    search = _Search(wanted, begin, _looked_at(columns, words, limit))
    reference = search.argument(wanted.reference)
    candidates = (
        f"SELECT created_at, number FROM payment WHERE merchant = $1 AND reference = {reference}"
        f" AND {search.older('number')}"
    )
    return search.finish(candidates, columns)


async def _along_word(
    store: Store, wanted: PaymentFilter, begin: PaymentPlace, words: list[str], limit: int
) -> FoundPayments:
    """Along the rows under the rarest word. Payments of a second may be in several rows, and are put in order here."""
    columns = _columns(wanted, "status", "currency", "payer", _REFUNDED)
    # A word of a text is not yet the text, under its key.
    others = [*words[1:], *(text for _, text in wanted.metadata)]
    search = _Search(wanted, begin, _looked_at(columns, others, limit))
    rows = await store.search(Query(search.under(words[0])), *search.arguments)
    below = sorted(PaymentPlace(*row[:2]) for row in rows if row[:2] < begin)
    has_more = len(below) == search.looked_at
    # What the rows that were not read hold is older than the oldest row that was.
    floor = below[0] if has_more else PaymentPlace(wanted.created_after + 1, 0)
    places = sorted((place for row in rows for place in places_in(*row) if floor <= place < begin), reverse=True)
    has_more = has_more or len(places) > search.looked_at
    places = places[: search.looked_at]
    matching = await _fitting(store, wanted, places, columns, limit) if columns or others else places
    return _page(matching, limit, places[-1] if has_more else None)


def _along_refunded(wanted: PaymentFilter, begin: PaymentPlace, words: list[str], limit: int) -> _Search:
    columns = _columns(wanted, "status", "currency", "payer")
    search = _Search(wanted, begin, _looked_at(columns, words, limit))
    candidates = (
        f"SELECT created_at, number FROM payment WHERE merchant = $1 AND {_REFUNDED} > 0 AND {search.older('number')}"
    )
    return search.finish(candidates, columns)


def _along_ranges(wanted: PaymentFilter, begin: PaymentPlace, words: list[str], limit: int) -> _Search:
    """Each status and currency is a range of one index; the newest of all ranges are the newest of all."""
    columns = _columns(wanted, "payer", _REFUNDED)
    search = _Search(wanted, begin, _looked_at(columns, words, limit))
    older = search.older("number")
    # Only what was paid has a payer, or is refunded.
    statuses = ("paid",) if columns else STATUSES
    ranges = [
        "SELECT * FROM (SELECT created_at, number FROM payment"
        f" WHERE merchant = $1 AND status = '{status}' AND currency = '{currency}' AND {older}) AS a"
        for status in ([wanted.status] if wanted.status else statuses)
        for currency in ([wanted.currency] if wanted.currency else CURRENCIES)
    ]
    most = f"${len(search.arguments)}"
    candidates = f"{' UNION ALL '.join(ranges)} ORDER BY created_at DESC, number DESC LIMIT {most}"
    return search.finish(candidates, columns)


def _columns(wanted: PaymentFilter, *names: str) -> dict[str, object]:
    """What must be looked up in the payment itself, beside an index that knows the rest."""
    asked = {
        "status": wanted.status,
        "currency": wanted.currency,
        "payer": wanted.payer,
        _REFUNDED: True if wanted.is_refunded else None,
    }
    return {name: asked[name] for name in names if asked[name] is not None}


def _held(columns: dict[str, object], arguments: list[object]) -> list[str]:
    """As conditions on a payment, with their values behind the arguments."""
    held = []
    for column, value in columns.items():
        if column == _REFUNDED:
            held.append(f"{column} > 0")
        else:
            arguments.append(value)
            held.append(f"{column} = ${len(arguments)}")
    return held


def _looked_at(columns: dict[str, object], words: Sequence[str], limit: int) -> int:
    return LIST_LOOKED_AT_MAX if columns or words else limit + 1


async def _rarest_first(store: Store, wanted: PaymentFilter, begin: PaymentPlace, words: list[str]) -> list[str] | None:
    """The one with the fewest payments below the cursor, or with the fewest in a time; None if one has none.

    Among words that nobody has thinned out, this is as far as a bounded look can tell.
    """
    if len(words) < 2 or wanted.reference is not None:  # noqa: PLR2004 - nothing to choose between
        return words
    search = _Search(wanted, begin, _PROBED)
    looks = [
        f"SELECT {place} AS place, count(*) AS rows, sum(1 + length(earlier) / {PLACE_BYTES}) AS found,"
        f" max(created_at) - min(created_at) AS within FROM ({search.under(word)}) AS w{place}"
        for place, word in enumerate(words)
    ]
    looked = await store.search(Query(" UNION ALL ".join(looks)), *search.arguments)
    ordered = sorted(
        (rows >= _PROBED, found / (within + 1) if rows >= _PROBED else found, place)
        for place, rows, found, within in looked
        if rows
    )
    return [words[place] for _, _, place in ordered] if len(ordered) == len(words) else None


async def _run(store: Store, wanted: PaymentFilter, search: _Search, limit: int) -> FoundPayments:
    rows = await store.search(search.sql, *search.arguments)
    matching = [PaymentPlace(created_at, number) for created_at, number, is_match in rows if is_match]
    if wanted.words or wanted.metadata or wanted.amount is not None:
        matching = await _fitting(store, wanted, matching, {}, limit)
    return _page(matching, limit, PaymentPlace(*rows[-1][:2]) if len(rows) == search.looked_at else None)


def _page(matching: list[PaymentPlace], limit: int, looked_until: PaymentPlace | None) -> FoundPayments:
    """What was found, and where to go on: after the last that is shown or, if there are fewer, the last looked at."""
    numbers = [place.number for place in matching[:limit]]
    return FoundPayments(numbers, matching[limit - 1] if len(matching) > limit else looked_until)


async def _fitting(
    store: Store, wanted: PaymentFilter, places: list[PaymentPlace], columns: dict[str, object], limit: int
) -> list[PaymentPlace]:
    """Those that are what is asked for, by a look at themselves, until there are more than a page."""
    fitting: list[PaymentPlace] = []
    for start in range(0, len(places), _LOADED_AT_ONCE):
        some = places[start : start + _LOADED_AT_ONCE]
        found = {payment.number for payment in await _loaded(store, some, columns) if fits(payment, wanted)}
        fitting += [place for place in some if place.number in found]
        if len(fitting) > limit:
            break
    return fitting


async def _loaded(store: Store, places: list[PaymentPlace], columns: dict[str, object]) -> list[Payment]:
    """At most as many as are loaded at once: those of which the columns hold."""
    numbers = [place.number for place in places]
    arguments: list[object] = [*numbers, *[numbers[0]] * (_LOADED_AT_ONCE - len(numbers))]
    held = _held(columns, arguments)
    # Found by their numbers, and by nothing else: PostgreSQL may think that a currency is rare, and read all of it.
    query = f"WITH found AS MATERIALIZED ({_LOOKED_UP}) SELECT * FROM found WHERE {' AND '.join(held)}"
    rows = await store.search(Query(query) if held else _LOOKED_UP, *arguments)
    return [Payment(*row) for row in rows]


async def _single(store: Store, wanted: PaymentFilter, begin: PaymentPlace, number: int) -> FoundPayments:
    payment = await store.find(Tables.payments, number)
    is_there = payment is not None and fits(payment, wanted) and (payment.created_at, number) < begin
    return FoundPayments([number] if is_there else [], None)


async def _of_payer(store: Store, wanted: PaymentFilter, begin: PaymentPlace, payer: int, limit: int) -> FoundPayments:
    """Among the last transfers of the payer, to whomever. Most people have not made as many as are looked at.

    Of somebody who has, it tells only of payments that were made after the oldest of those, and where to go on names
    none but the merchant's own: how much the payer does elsewhere is nobody's business.
    """
    entries, _ = await account_entries.read_outgo(
        store, payer, account_entries.newest(wanted.currency), {}, LIST_LOOKED_AT_MAX
    )
    is_cut = len(entries) == LIST_LOOKED_AT_MAX
    floor = entries[-1].created_at if is_cut else -1
    own = [(entry.payment, entry.created_at) for entry in entries if entry.other == wanted.merchant and entry.payment]
    fitting: list[tuple[int, int]] = []
    shown: list[tuple[int, int]] = []
    while own and len(shown) <= limit:
        some, own = own[:_LOADED_AT_ONCE], own[_LOADED_AT_ONCE:]
        found = await asyncio.gather(*(store.find(Tables.payments, number) for number, _ in some))
        fitting += [(one.created_at, one.number) for one in found if one is not None and fits(one, wanted)]
        # Those further down were paid before the next one was, so they were made before that, too.
        low = own[0][1] if own else floor
        shown = sorted((place for place in fitting if place[0] > low and place < begin), reverse=True)
    has_more = is_cut or len(shown) > limit
    shown = shown[:limit]
    return FoundPayments(
        [number for _, number in shown], PaymentPlace(*(shown[-1] if shown else begin)) if has_more else None
    )
