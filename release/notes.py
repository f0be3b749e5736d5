"""The version of the sources, and what `CHANGELOG.md` says of it."""

import re
from pathlib import Path

from release.refusal import ReleaseRefused


def version_of(root: Path) -> str:
    """As the package says it."""
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "src/qirsh/__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise ReleaseRefused("src/qirsh/__init__.py names no version")
    return found[1]


def release_notes(changelog: str, version: str) -> str:
    """The section of the version, with its heading: `## 1.2.0`, `## [1.2.0]`, either with ` - DATE` behind it."""
    sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    heading = re.compile(rf"## (?:{re.escape(version)}|\[{re.escape(version)}\])(?: - .*)?")
    for section in sections:
        title, _, text = section.partition("\n")
        if heading.fullmatch(title.rstrip()):
            if not text.strip():
                raise ReleaseRefused(f"the section of {version} in CHANGELOG.md is empty")
            return f"{section.strip()}\n"
    raise ReleaseRefused(
        f"CHANGELOG.md has no section of {version}: write `## {version} - DATE` over what it holds, or"
        " take what is not released yet: make release UNRELEASED=1"
    )
