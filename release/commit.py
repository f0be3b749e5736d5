"""The commit that is released: its name, its time and its files."""

import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from release.refusal import ReleaseRefused


class Commit(NamedTuple):
    """One of a tree without changes."""

    name: str
    time_s: int


def clean_commit(root: Path) -> Commit:
    """What is checked out; refused if the tree holds anything else."""
    if not (root / ".git").exists():
        raise ReleaseRefused("a release is made of a commit, and this is no checkout of git")
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal")
    if changed:
        raise ReleaseRefused(f"the tree is not clean; commit, remove or ignore first:\n{changed.rstrip()}")
    name, time_s = _git(root, "show", "--no-patch", "--format=%H %ct", "HEAD").split()
    return Commit(name, int(time_s))


def export(root: Path, commit: Commit, target: Path) -> None:
    """The files of the commit into a new folder: nothing that is ignored, whatever this machine's git is told."""
    target.mkdir()
    own = ("-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", "-c", "tar.umask=0022")
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        _git(root, *own, "archive", "--output", archive.name, commit.name)
        subprocess.run(["tar", "-xf", archive.name, "-C", str(target), "--no-same-owner"], check=True)


def _git(root: Path, *words: str) -> str:
    ended = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise ReleaseRefused(f"git {words[0]} failed: {ended.stderr.strip()}")
    return ended.stdout
