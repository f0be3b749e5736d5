"""Backups as files: whole under their name or not there, and only so many of them."""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from qirsh.backup.new_file import sync

_NAME: Final = re.compile(r"qirsh-\d{8}T\d{6}\.\d{3}Z\.jsonl\.gz")
_PART: Final = ".part"
_UNFINISHED: Final = re.compile(rf"{_NAME.pattern}\.\w+\{_PART}")
_ABANDONED_S: Final = 24 * 3600  # Whoever writes one writes often.


class LastBackup(msgspec.Struct, frozen=True):
    """What is remembered of the last good one, for `doctor` and the console."""

    at: datetime
    rows: int
    bytes: int
    violations: int | None = None  # As its manifest has it.


def file_in(folder: Path, at: datetime) -> Path:
    """A name for a new one: by its time, so that a list of them is in their order."""
    return folder / f"qirsh-{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03}Z.jsonl.gz"


@contextlib.contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """Under another name until it is whole, on the disk, and for its owner alone."""
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}{_PART}")
    try:  # Around its making too: whoever is told to end may hear it at that very moment.
        with open(part, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
            yield output
            output.flush()
            os.fsync(output.fileno())
        part.replace(file)
        sync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def remove_older(folder: Path, keep: int) -> list[Path]:
    """All whole ones but the newest `keep`, which is at least one."""
    assert keep >= 1
    whole = sorted(file for file in folder.iterdir() if _NAME.fullmatch(file.name))
    removed = whole[:-keep]
    for file in removed:
        file.unlink()
    return removed


def remove_abandoned(folder: Path) -> list[Path]:
    """What backups have left there that were killed."""
    before = time.time() - _ABANDONED_S
    removed = [file for file in folder.iterdir() if _UNFINISHED.fullmatch(file.name) and file.stat().st_mtime < before]
    for file in removed:
        file.unlink()
    return removed


def remember(data_dir: Path, last: LastBackup) -> None:
    """That there is one, where `doctor` looks."""
    with whole_file(_memory(data_dir)) as file:
        file.write(msgspec.json.encode(last))


def last_backup(data_dir: Path) -> LastBackup | None:
    """What is remembered; None if nothing is, or nobody can read it."""
    try:
        return msgspec.json.decode(_memory(data_dir).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError):
        return None


def _memory(data_dir: Path) -> Path:
    return data_dir / "last-backup.json"
