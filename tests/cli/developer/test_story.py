"""What the docs tell developers to do, from the installed package and from a wheel, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.live import free_port

ROOT: Final = Path(__file__).parents[3]
STORY: Final = Path(__file__).with_name("story.sh")
_PATIENCE_S: Final = 180


def play(folder: Path, program: Path, **variables: str) -> None:
    """The story, with the receiver that stands in the docs."""
    docs = (ROOT / "docs/api.md").read_text()
    [receiver] = re.findall(r"```python\n(import http\.server.*?)```", docs, re.DOTALL)
    assert len(list(filter(None, receiver.splitlines()))) <= 10, "it can be read at a glance"
    port = str(free_port())
    assert receiver.count("3000") == 1
    (folder / "receiver.py").write_text(receiver.replace("3000", port))
    empty = folder / "empty"
    empty.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("QIRSH_", "PYTHONPATH"))}
    told = {
        "PROGRAM": str(program),
        "PYTHON": sys.executable,
        "RECEIVER": str(folder / "receiver.py"),
        "URL": f"http://localhost:{port}/hooks",
    }
    ended = subprocess.run(
        ["bash", str(STORY)],
        cwd=empty,
        env=clean | told | variables,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    payment, event = re.findall(r"^  \w+ +(\S+)$", ended.stdout, re.MULTILINE)
    assert f"\nverified remote_payment.paid {event}\n" in ended.stdout
    assert re.search(rf"\d  remote_payment\.paid +{payment}  {event}  204  \d+ ms\n", ended.stdout)


@pytest.mark.slow
def test_the_installed_package_tells_the_story(tmp_path: Path) -> None:
    play(tmp_path, Path(sys.executable).with_name("qirsh"))


@pytest.mark.slow
def test_a_wheel_tells_the_story(tmp_path: Path) -> None:
    """What it needs besides is in this environment; `make wheel-check` installs it anew from the lock."""
    source, wheels, installed = (tmp_path / name for name in ("source", "wheels", "installed"))
    source.mkdir()
    for name in ("pyproject.toml", "requirements.in", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = [sys.executable, "-m", "pip"]
    subprocess.run(
        [*pip, "wheel", "-qq", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(source)], check=True
    )
    [wheel] = wheels.glob("*.whl")
    subprocess.run(
        [*pip, "install", "-qq", "--no-deps", "--no-index", "--target", str(installed), str(wheel)], check=True
    )
    path = {"PYTHONPATH": str(installed)}
    found = subprocess.run(
        [sys.executable, "-c", "import qirsh; print(qirsh.__file__)"],
        env=os.environ | path,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(installed), "the wheel's, and not that of the checkout"
    play(tmp_path, installed / "bin" / "qirsh", **path)
