"""What a database is, how far its chain of seals goes, and whether seals that were seen are still in it."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from qirsh.store.interface import Query


class ChainState(msgspec.Struct, frozen=True):
    """At one moment."""

    identifier_key: bytes
    epoch: int
    number: int  # Of the last seal; 0 before the first.
    hash: bytes
    seals: dict[int, bytes]  # Those that were asked for and are there.


def state_query(numbers: Iterable[int]) -> Query:
    """With these seals, for one who asks once."""
    return _query(", ".join(map(str, numbers)) or "0")


def read_state(rows: Iterable[tuple[Any, ...]]) -> ChainState | None:
    """None of a database that no start has finished."""
    constants: dict[str, bytes] = {}
    seals: dict[int, bytes] = {}
    number, head = 0, b""
    for name, seal, value in rows:
        if name == _HEAD:
            number, head = seal, bytes(value)
        elif name == _SEAL:
            seals[seal] = bytes(value)
        else:
            constants[name] = bytes(value)
    if len(constants) < len(_CONSTANTS):
        return None
    key, epoch = (constants[name] for name in _CONSTANTS)
    return ChainState(identifier_key=key, epoch=int(epoch), number=number, hash=head, seals=seals)


_CONSTANTS: Final = ("identifier_key", "epoch")
_HEAD: Final = "head"
_SEAL: Final = "seal"


def _query(numbers: str) -> Query:
    constants = ", ".join(f"'{name}'" for name in _CONSTANTS)
    return Query(
        f"SELECT name, 0, value FROM constant WHERE name IN ({constants})"  # noqa: S608 - numbers and names of ours
        f" UNION ALL SELECT '{_HEAD}', number, hash FROM seal WHERE number = (SELECT max(number) FROM seal)"
        f" UNION ALL SELECT '{_SEAL}', number, hash FROM seal WHERE number IN ({numbers})"
    )


# With one seal. Its text is always the same: a connection keeps the plans of a hundred texts.
CHAIN_STATE: Final = _query("$1")
