"""`python -m tests.backup.keep`: the backup of this version for `tests/backups`, before it is released."""

import tempfile
from pathlib import Path
from typing import Final

from qirsh import __version__
from tests.backup.conftest import back_up
from tests.store.filled import fill

KEPT: Final = Path(__file__).parents[1] / "backups"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "qirsh.db")
        back_up(Path(folder) / "qirsh.db", KEPT / f"{__version__}.jsonl.gz")
