"""Versions of Qirsh as wheels, and a machine of one folder that `install.sh` puts them on."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import qirsh
from tests.cli.program import Ended, House

REPOSITORY: Final = Path(__file__).parents[2]
INSTALL: Final = REPOSITORY / "deploy" / "systemd" / "install.sh"
LOCK: Final = REPOSITORY / "requirements.txt"
_SOURCES: Final = ("pyproject.toml", "requirements.in", "LICENSE", "README.md", "src")
_PATIENCE_S: Final = 900


def wheel_of(folder: Path, version: str, **changes: str) -> Path:
    """Of this source, with another version number; a change is a file of the package and what is put in its place."""
    tree = folder / version
    tree.mkdir()
    for name in _SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, tree / name)
    package = tree / "src" / "qirsh"
    init = package / "__init__.py"
    changed = re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', init.read_text())
    assert version in changed
    for name, text in ({"__init__.py": changed} | changes).items():
        (package / name).write_text(text)
    words = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "-w", str(folder), "."]
    subprocess.run(words, cwd=tree, check=True, timeout=_PATIENCE_S)
    shutil.rmtree(tree)
    return folder / f"qirsh-{version}-py3-none-any.whl"


def clean_environment() -> dict[str, str]:
    """Ours, without the settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}


def write_systemctl(file: Path) -> Path:
    """A program that `install.sh` takes for systemctl."""
    file.write_text(f'#!/bin/sh\ncd {REPOSITORY} && exec {sys.executable} -m tests.deploy.service_manager "$@"\n')
    file.chmod(0o755)
    return file


class Installation:
    """One root folder, of the version that the tests run or another."""

    def __init__(self, root: Path, port: int) -> None:
        root.mkdir()
        self.root = root
        self.url = f"http://127.0.0.1:{port}"
        self.house = House(root / "var/lib/qirsh")
        self._port = port
        self._systemctl = write_systemctl(root / "systemctl")

    def run(self, *words: str, folder: Path | None = None, **variables: str) -> Ended:
        """`install.sh`, to its end, from a folder."""
        told = clean_environment() | {"ROOT": str(self.root), "SYSTEMCTL": str(self._systemctl)} | variables
        done = subprocess.run(
            ["sh", str(INSTALL), *words],
            cwd=folder,
            env=told,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def must(self, *words: str, folder: Path | None = None, **variables: str) -> str:
        """What it says when it does what it is told."""
        done = self.run(*words, folder=folder, **variables)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def killing_systemctl(self, verb: str) -> Path:
        """One that does as it is told, and at that word kills who has told it."""
        program = self.root / f"systemctl-{verb}"
        program.write_text(f'#!/bin/sh\n{self._systemctl} "$@" || exit\n[ "$1" != {verb} ] || kill -9 "$PPID"\n')
        program.chmod(0o755)
        return program

    def stop(self) -> int:
        """The service; 0 if it ended by itself."""
        words = [str(self._systemctl), "stop", "qirsh.service"]
        return subprocess.run(words, env=clean_environment() | {"ROOT": str(self.root)}, check=False).returncode

    def settle(self, demo: House) -> dict[str, Any]:
        """People, money and a secret key, as one had them who served before; the demo's credentials."""
        self.house.folder.parent.mkdir(parents=True)
        shutil.copytree(demo.folder, self.house.folder)
        return demo.demo()

    def set(self, **settings: str) -> None:
        """In the file of settings, as an operator fills it in."""
        file = self.root / "etc/qirsh/qirsh.env"
        lines = file.read_text().splitlines()
        for name, value in ({"QIRSH_BASE_URL": self.url, "QIRSH_PORT": str(self._port)} | settings).items():
            lines = [line for line in lines if not line.startswith(f"{name}=")] + [f"{name}={value}"]
        file.write_text("\n".join(lines) + "\n")

    def own_data(self) -> None:
        """What was put there by `settle` is the service's."""
        found = (self.root / "var/lib/qirsh").stat()
        for path in self.house.folder.rglob("*"):
            os.chown(path, found.st_uid, found.st_gid)

    def current(self) -> str:
        return str((self.root / "opt/qirsh/current").readlink())

    def log(self) -> str:
        """What the service has said."""
        return (self.root / "run/service-manager/qirsh.service.log").read_text()


THIS_VERSION: Final = qirsh.__version__
