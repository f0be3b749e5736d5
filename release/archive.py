"""The wheel, the source archive and the checksums: sorted, owned by nobody, and all of the commit's time."""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from release.commit import Commit


def write_archives(tree: Path, commit: Commit, version: str, target: Path) -> None:
    """Wheel and source archive of the exported tree, to which they add the name of the commit."""
    (tree / "src/qirsh/commit.txt").write_text(f"{commit.name}\n")
    scratch = tree.with_name(f"{tree.name}-build")  # setuptools leaves files of its own.
    shutil.copytree(tree, scratch)
    wheel = _build_wheel(scratch, commit, target)
    with zipfile.ZipFile(wheel) as files:  # With it the archive is one that Python's installers know.
        (tree / "PKG-INFO").write_bytes(files.read(f"qirsh-{version}.dist-info/METADATA"))
    _pack(tree, commit, target / f"qirsh-{version}.tar.gz")


def _build_wheel(tree: Path, commit: Commit, target: Path) -> Path:
    """By the setuptools of this environment, without asking any index."""
    pip = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-index", "--no-build-isolation"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(commit.time_s)}
    subprocess.run([*pip, "-w", str(target), str(tree)], env=environment, check=True)
    [wheel] = target.glob("*.whl")
    return wheel


def _pack(tree: Path, commit: Commit, target: Path) -> None:
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = commit.time_s
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with (
        target.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=commit.time_s) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.add(tree, target.name.removesuffix(".tar.gz"), filter=plain)  # It goes through folders in order.


def write_sums(folder: Path) -> str:
    """`SHA256SUMS` of all that lies there, as `sha256sum -c` reads it."""
    files = sorted(folder.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (folder / "SHA256SUMS").write_text(sums)
    return sums
