"""The secret beside the data, which the service makes for itself where no setting holds one."""

import contextlib
import os
import tempfile
from pathlib import Path

from qirsh.engine.entropy import Entropy
from qirsh.setting_values import SECRET_CHARACTERS_MIN, is_secret
from qirsh.store.interface import UnusableDatabase


def read_secret(file: Path) -> bytes:
    """What it holds. An empty one would be a key that everybody knows."""
    secret = file.read_bytes().strip()
    if not is_secret(secret):
        message = (
            f"{file} holds no secret of at least {SECRET_CHARACTERS_MIN} random characters: put back what it held, or"
            " set QIRSH_SECRET_KEY to that"
        )
        raise UnusableDatabase(message)
    return secret


def keep_secret(file: Path, entropy: Entropy) -> bytes:
    """Made at first start. Losing it loses PINs and second factors, not money."""
    if not file.exists():
        # Under its name it is whole, also if another process starts at this moment.
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.") as made:
            made.write(entropy(32).hex().encode() + b"\n")
            made.flush()
            os.fsync(made.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(made.name, file)
    return read_secret(file)
