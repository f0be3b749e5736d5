"""The list of leaked passwords anew: `make leaked` gives the source on standard input, most used first."""

import gzip
import sys
import unicodedata
from pathlib import Path
from typing import Final

from qirsh.domain.limits import PASSWORD_CHARACTERS_MIN
from qirsh.web.auth.password_policy import LEAKED

KEPT: Final = 25_000  # With more the file would have over 200 kB.


def most_used(lines: list[str]) -> list[str]:
    """Those that are long enough to be taken, in the one spelling that they are looked up in, sorted."""
    folded = dict.fromkeys(unicodedata.normalize("NFC", line).casefold() for line in lines)
    return sorted([line for line in folded if len(line) >= PASSWORD_CHARACTERS_MIN][:KEPT])


def write(source: bytes, target: Path) -> None:
    kept = "".join(f"{line}\n" for line in most_used(source.decode().splitlines()))
    target.write_bytes(gzip.compress(kept.encode(), mtime=0))


if __name__ == "__main__":
    write(sys.stdin.buffer.read(), LEAKED)
