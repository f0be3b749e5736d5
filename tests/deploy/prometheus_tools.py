"""Debian's promtool and Prometheus, which `make debian-prometheus` fetches, and what is asked of them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
_FETCHED: Final = ROOT / ".venv-prometheus/bin"
# Of a short run most of the work would be to collect what it has thrown away.
_ENVIRONMENT: Final = {**os.environ, "GOGC": "400"}


def tool(name: str) -> Path:
    """Where it is."""
    found = shutil.which(name) or shutil.which(name, path=_FETCHED)
    if found is None:
        pytest.skip(f"NOT TESTED: {name} is not there: run make debian-prometheus, as root")
    return Path(found)


def promtool(*words: str | Path) -> tuple[int, str]:
    """Its exit code, and all that it says."""
    done = subprocess.run([tool("promtool"), *words], capture_output=True, text=True, check=False, env=_ENVIRONMENT)
    return done.returncode, done.stdout + done.stderr
