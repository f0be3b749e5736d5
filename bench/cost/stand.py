"""Books for a comparison of two checkouts. Run by its path in either of them, so that each makes its own."""

import sys
from pathlib import Path
from typing import Final

from bench.fill import Books
from bench.seed import seed
from qirsh.settings import read_settings

_PAYERS: Final = 64
_RETRIEVABLE: Final = 10_000


def main(data_dir: Path, pending: int) -> None:
    """Leaves files beside the data: keys, sessions, ids to be retrieved, ids to be paid."""
    town = seed(read_settings({"QIRSH_DATA_DIR": str(data_dir)}), shops=1, payers=_PAYERS)
    books = Books(data_dir, town)
    try:
        ids = books.add_history(_RETRIEVABLE, lambda _count: None)
        waiting = books.add_pending(pending) if pending else []
    finally:
        books.close()
    for name, lines in (
        ("keys", [town.shops[0].key]),
        ("sessions", town.sessions),
        ("ids", ids),
        ("pending", waiting),
    ):
        (data_dir / name).write_text("\n".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
