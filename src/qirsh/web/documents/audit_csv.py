"""The audit log as CSV: RFC 4180, UTF-8 with a mark that tells spreadsheets so, written as it goes."""

import codecs
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from qirsh.language.local_time import local_timestamp
from qirsh.store.reads.audit_log import AuditEntryRow
from qirsh.web.documents.export_csv import csv_line, csv_text
from qirsh.web.documents.export_table import WrittenTexts
from qirsh.web.http.streams import Streams

_COLUMNS: Final = ("entry", "time", "actor", "action", "subject", "detail")
_ROWS_AT_ONCE: Final = 150  # Written in one turn: about a millisecond.


async def audit_csv(
    pages: AsyncGenerator[list[AuditEntryRow], None], streams: Streams, zone: ZoneInfo
) -> AsyncGenerator[bytes, None]:
    """Newest first, as the list has them."""
    texts = WrittenTexts(csv_text)  # Actors and actions come again and again.
    yield codecs.BOM_UTF8 + csv_line([csv_text(name) for name in _COLUMNS]).encode()
    async with aclosing(pages):
        async for page in pages:
            for start in range(0, len(page), _ROWS_AT_ONCE):
                yield await streams.turn(partial(_lines, page[start : start + _ROWS_AT_ONCE], texts, zone))


def _lines(entries: Sequence[AuditEntryRow], texts: WrittenTexts, zone: ZoneInfo) -> bytes:
    return "".join(
        [
            csv_line(
                [
                    str(entry.id),
                    f'"{local_timestamp(entry.at, zone)}"',
                    texts[entry.actor],
                    texts[entry.action],
                    texts[entry.subject],
                    texts[entry.detail],
                ]
            )
            for entry in entries
        ]
    ).encode()
