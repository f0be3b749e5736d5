"""`make release`: wheel, lock, source archive, SBOM, notes and checksums of the commit checked out, in `dist/`."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from release.archive import write_archives, write_sums
from release.commit import clean_commit, export
from release.lock import read_lock, require_installed
from release.notes import release_notes, version_of
from release.refusal import ReleaseRefused
from release.sbom import sbom


def make_release(root: Path, *, is_unreleased: bool = False) -> str:
    """Fill `dist` anew, once all is made; the checksums come back. Between two releases the notes are those to come."""
    commit = clean_commit(root)
    version = version_of(root)
    notes = release_notes((root / "CHANGELOG.md").read_text(), "Unreleased" if is_unreleased else version)
    locked = read_lock(root / "requirements.txt")
    require_installed([*locked, *read_lock(root / "requirements-build.txt")])
    direct = [line for line in (root / "requirements.in").read_text().splitlines() if line and not line.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        tree, made = Path(folder, "tree"), Path(folder, "dist")
        made.mkdir()
        export(root, commit, tree)
        write_archives(tree, commit, version, made)
        (made / f"qirsh-{version}.cdx.json").write_text(sbom(locked, direct, version, commit))
        (made / f"qirsh-{version}.notes.md").write_text(notes)
        shutil.copyfile(tree / "requirements.txt", made / f"qirsh-{version}.requirements.txt")
        sums = write_sums(made)
        shutil.rmtree(root / "dist", ignore_errors=True)
        shutil.copytree(made, root / "dist")
    return sums


def main() -> int:
    """The exit code."""
    os.umask(0o022)  # A wheel keeps the modes of its files.
    try:
        sys.stdout.write(make_release(Path.cwd(), is_unreleased="--unreleased" in sys.argv[1:]))
    except ReleaseRefused as refusal:
        sys.stderr.write(f"no release: {refusal}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
