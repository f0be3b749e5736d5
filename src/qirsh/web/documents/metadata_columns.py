"""Metadata of payments in a table: a column for each of the commonest keys, and one for all others."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from qirsh.web.documents.export_table import Cell, Column, Kind

_DIGITS_MAX: Final = 15  # What every program reads exactly; a number with more is a text.
_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def metadata_columns(keys: Sequence[str]) -> tuple[Column, ...]:
    """One for each key, and the last for the rest. A name that begins so is never a formula, nor one of ours."""
    return (*(Column(f"metadata.{key}", Kind.VALUE) for key in keys), Column("metadata"))


def metadata_cells(metadata: str, keys: Sequence[str]) -> list[Cell]:
    """In the order of the columns, as they were sent: texts as texts, numbers to the last digit, the rest as JSON."""
    if metadata == "{}":
        return [None] * (len(keys) + 1)
    values: dict[str, Any] = msgspec.json.decode(metadata)
    raw: dict[str, msgspec.Raw] = {}
    cells: list[Cell] = []
    for key in keys:
        value = values.pop(key, None)
        kind = type(value)
        if kind is str or value is None or (kind is int and abs(value) < 10**_DIGITS_MAX):
            cells.append(value)
        else:
            raw = raw or _RAW.decode(metadata)
            cells.append(_as_sent(bytes(raw[key]).decode(), is_number=kind is int or kind is float))
    if not values:
        cells.append(None)
    else:
        raw = raw or _RAW.decode(metadata)
        cells.append(msgspec.json.encode({key: raw[key] for key in values}).decode())
    return cells


def _as_sent(text: str, *, is_number: bool) -> Cell:
    if not is_number:
        return text
    number = Decimal(text)
    return number if len(number.as_tuple().digits) <= _DIGITS_MAX else text
