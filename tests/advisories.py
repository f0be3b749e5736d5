"""Known weaknesses, and the age, of what the lock files name, as PyPI tells them: `make advisories`.

No test: it asks the outside, and the answer changes by itself. A library of which nothing can be learned is a finding
like any other.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from packaging.version import InvalidVersion, Version
from pip._internal.models.index import PyPI  # pip knows where that is, so that no file of ours says it.

ROOT: Final = Path(__file__).parent.parent
BEHIND_MAX: Final = timedelta(days=183)  # Of docs/security.md, which also has the times for weak ones.
_ANSWER_S_MAX: Final = 60
_AT_ONCE: Final = 6

Fetch = Callable[[str], Mapping[str, Any] | None]


class Library(NamedTuple):
    """One that is locked."""

    name: str
    version: str


def locked(root: Path) -> list[Library]:
    """What the lock files name, each once."""
    texts = [file.read_text() for file in sorted(root.glob("requirements*.txt"))]
    return sorted(
        {Library(*each) for text in texts for each in re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)}
    )


def findings(library: Library, fetch: Fetch, now: datetime) -> list[str]:
    """What there is to do about it; empty if nothing is."""
    project = fetch(f"{library.name}/json")
    # A registry may answer for projects alone, with what it knows of the newest version.
    is_newest = project is not None and project["info"]["version"] == library.version
    told = fetch(f"{library.name}/{library.version}/json") or (project if is_newest else None)
    found = []
    if told is None:
        found.append("UNKNOWN: the registry tells no weaknesses of this version")
    else:
        weak = [each for each in told["vulnerabilities"] if not each.get("withdrawn")]
        found += [f"WEAK: {each['id']}, better in {', '.join(each['fixed_in']) or 'no version yet'}" for each in weak]
    if project is None:
        found.append("UNKNOWN: the registry tells no versions")
    else:
        since = _outdated_since(library.version, project["releases"])
        if since is not None and now - since > BEHIND_MAX:
            found.append(
                f"LATE: there has been a newer one since {since:%Y-%m-%d}; the newest is {project['info']['version']}"
            )
    return [f"{library.name} {library.version}: {each}" for each in found]


def _outdated_since(version: str, releases: Mapping[str, list[dict[str, Any]]]) -> datetime | None:
    """When the first newer version came that can be used; None if there is none."""
    newer = [
        min(datetime.fromisoformat(file["upload_time_iso_8601"]) for file in files)
        for name, files in releases.items()
        if files and not all(file["yanked"] for file in files) and _is_newer(name, version)
    ]
    return min(newer, default=None)


def _is_newer(name: str, version: str) -> bool:
    try:
        other = Version(name)
    except InvalidVersion:
        return False
    return not other.is_prerelease and other > Version(version)


def _from_pypi(path: str) -> Mapping[str, Any] | None:
    try:
        with urlopen(f"{PyPI.pypi_url}/{path}", timeout=_ANSWER_S_MAX) as answer:  # noqa: S310 - https, by pip
            return dict(json.load(answer))
    except (URLError, TimeoutError, ValueError):
        return None


def main() -> int:
    """The exit code."""
    libraries, now = locked(ROOT), datetime.now(UTC)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [line for lines in pool.map(lambda each: findings(each, _from_pypi, now), libraries) for line in lines]
    sys.stdout.writelines(f"{line}\n" for line in [*found, f"libraries: {len(libraries)}, findings: {len(found)}"])
    return 1 if found or not libraries else 0


if __name__ == "__main__":
    sys.exit(main())
