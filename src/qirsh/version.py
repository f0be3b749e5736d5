"""Which Qirsh this is: its version, and the commit where that is known."""

import subprocess
from pathlib import Path
from typing import Final

from qirsh import __version__

_PACKAGE: Final = Path(__file__).parent
_COMMIT_CHARACTERS: Final = 8
_GIT_S_MAX: Final = 5


def version_and_commit() -> str:
    """`0.1.0 (1a2b3c4d)`, or the version alone."""
    commit = _released_commit() or _checked_out_commit()
    return f"{__version__} ({commit})" if commit else __version__


def _released_commit() -> str | None:
    """Only `make release` writes the file, into the wheel and the source archive: it is never in a checkout."""
    try:
        return (_PACKAGE / "commit.txt").read_text().strip()[:_COMMIT_CHARACTERS]
    except FileNotFoundError:
        return None


def _checked_out_commit() -> str | None:
    """As git tells it, with `-dirty` behind it if files were changed since."""
    checkout = _PACKAGE.parents[1]
    # Anywhere else, a repository around the package is somebody else's, as where an environment lies in one.
    if _PACKAGE.parts[-2:] != ("src", "qirsh") or not (checkout / ".git").exists():
        return None
    words = ["git", f"--git-dir={checkout}/.git", f"--work-tree={checkout}", "--no-optional-locks", "describe"]
    words += ["--always", "--dirty", f"--abbrev={_COMMIT_CHARACTERS}", "--exclude=*"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_GIT_S_MAX)  # noqa: S603 - fixed words
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None
