"""What payments are found by, written down beside them a moment later: texts of their metadata, and words."""

from typing import Any

import msgspec

from qirsh.domain.limits import METADATA_FILTER_CHARACTERS_MAX


class MetadataEntry(msgspec.Struct, frozen=True, gc=False):
    """One text under one key of one payment."""

    merchant: int
    key: str
    value: str
    created_at: int  # Of the payment: lists are in this order.
    payment: int


class IndexedBlock(msgspec.Struct, frozen=True):
    """How far the payments of one block of numbers have been looked at."""

    first: int
    until: int


def entries_of(metadata: dict[str, Any], *, merchant: int, created_at: int, payment: int) -> list[MetadataEntry]:
    """The top-level texts. Those that are too long are left out: nobody can ask for them."""
    return [
        MetadataEntry(merchant, key, value, created_at, payment)
        for key, value in metadata.items()
        if type(value) is str and len(value) <= METADATA_FILTER_CHARACTERS_MAX
    ]
