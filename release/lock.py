"""What a hashed lock file names, and whether it is what this environment holds."""

import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from release.refusal import ReleaseRefused


class Locked(NamedTuple):
    """One package of a lock, with the hash of each of its files."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]


def read_lock(file: Path) -> list[Locked]:
    """All of it; a line that is not understood is no lock."""
    found = []
    for entry in file.read_text().replace("\\\n", " ").splitlines():
        parts = re.fullmatch(r"([\w.-]+)==([^\s;]+)(?: ; (.*?))?((?:\s+--hash=sha256:[0-9a-f]{64})+)", entry.rstrip())
        if parts is None:
            raise ReleaseRefused(f"{file.name}: not a locked package: {entry}")
        found.append(Locked(parts[1], parts[2], (parts[3] or "").strip(), tuple(re.findall(r":(\w+)", parts[4]))))
    return found


def require_installed(locked: Iterable[Locked]) -> None:
    """Refuse where this environment has another version than the lock: the release would tell of that one."""
    installed: dict[str, str] = {
        canonicalize_name(each.metadata["Name"]): each.version for each in metadata.distributions()
    }
    for package in locked:
        if package.marker and not Marker(package.marker).evaluate():
            continue
        if installed.get(package.name) != package.version:
            raise ReleaseRefused(
                f"the lock names {package.name} {package.version}, and installed is"
                f" {installed.get(package.name, 'none')}: run `make setup`"
            )
