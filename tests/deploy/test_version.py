"""`qirsh --version` names the commit where it is known, and never that of somebody else's repository."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from qirsh import __version__, version

COMMIT: Final = "0123456789abcdef0123456789abcdef01234567"


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def package(root: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one file, in a repository."""
    folder = root / place
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    git(root, "init", "-q")
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "version: a commit of the test")
    monkeypatch.setattr(version, "_PACKAGE", folder)
    return folder


def test_a_checkout_tells_its_commit_and_whether_files_were_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path, "src/qirsh", monkeypatch)
    git(tmp_path, "tag", "-a", "-m", "a tag is not what is told", "v9")
    commit = git(tmp_path, "rev-parse", "--short=8", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # As in a hook of another repository.
    assert version.version_and_commit() == f"{__version__} ({commit})"
    (folder / "__init__.py").write_text("changed = True\n")
    assert version.version_and_commit() == f"{__version__} ({commit}-dirty)"


def test_a_worktree_tells_its_own_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "main", "src/qirsh", monkeypatch)
    git(tmp_path / "main", "worktree", "add", "-q", "-b", "other", "../other")
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "version: another commit")
    monkeypatch.setattr(version, "_PACKAGE", tmp_path / "other/src/qirsh")
    commit = git(tmp_path / "other", "rev-parse", "--short=8", "HEAD").strip()
    assert version.version_and_commit() == f"{__version__} ({commit})"


@pytest.mark.parametrize("place", ["lib/qirsh", ".venv/lib/python3/site-packages/qirsh", "src/vendor/src/qirsh"])
def test_a_repository_around_an_installed_package_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    package(tmp_path, place, monkeypatch)
    assert version.version_and_commit() == __version__


def test_a_release_tells_its_commit_also_where_it_is_unpacked_into_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path, "src/qirsh", monkeypatch)
    (folder / "commit.txt").write_text(f"{COMMIT}\n")
    assert version.version_and_commit() == f"{__version__} (01234567)"


def test_without_git_the_version_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "src/qirsh", monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version.version_and_commit() == __version__
    monkeypatch.undo()
    (tmp_path / ".git/HEAD").unlink()
    monkeypatch.setattr(version, "_PACKAGE", tmp_path / "src/qirsh")
    assert version.version_and_commit() == __version__
