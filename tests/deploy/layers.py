"""The steps of a Containerfile, run without a container engine.

Each stage is an overlay over this machine's own root, which stands for the base image: what a stage writes is what its
layers would hold. What is started then sees that root read-only, but for the data. It takes root.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.deploy.containerfile import REPOSITORY, Stage, Start, read_environment, read_stages, read_start

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_STEP_S_MAX: Final = 900
# In a mount namespace of its own. LAYER is what the stage has written so far.
_OVERLAY: Final = """
set -eu
mkdir -p "$LAYER" "$LAYER.work" "$LAYER.tree"
mount -t overlay overlay -o "lowerdir=/,upperdir=$LAYER,workdir=$LAYER.work" "$LAYER.tree"
mount --bind /dev "$LAYER.tree/dev"
mount -t proc proc "$LAYER.tree/proc"
"""
_RUN: Final = _OVERLAY + 'exec chroot "$LAYER.tree" env -u LAYER -C "$FOLDER" sh -c "$STEP"'
# Device files can be written to where their folder cannot, and what lies under /dev is not taken along.
_START: Final = (
    _OVERLAY
    + """
mount --bind "$DATA" "$LAYER.tree/data"
mount -o remount,bind,ro "$LAYER.tree/dev"
mount -o remount,ro "$LAYER.tree"
exec chroot "$LAYER.tree" env -u LAYER -u DATA -C "$FOLDER" setpriv --reuid="${RUN_AS%:*}" --regid="${RUN_AS#*:}" \
    --clear-groups --no-new-privs --bounding-set=-all --pdeathsig=KILL -- "$@"
"""
)


class NoOverlay(Exception):
    """None can be mounted on this machine. The message is why."""


class Image:
    """Built of the Containerfile's steps, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Builds it. Raises `NoOverlay` where that cannot be done."""
        self._layers: dict[str, Path] = {}
        _require_overlay(folder)
        stages = read_stages()
        for number, stage in enumerate(stages):
            self._build(stage, folder / f"stage{number}")
        self.layer = folder / f"stage{len(stages) - 1}"
        self.start: Start = read_start(stages[-1], PATH)
        self.data = folder / "data"
        # As an engine fills a new volume: with what the image has there.
        _copy(self.layer / "data", self.data)

    def bytes(self) -> int:
        """Of all files that it adds to its base."""
        return sum(path.lstat().st_size for path in self.layer.rglob("*") if not path.is_dir())

    def started(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """As an engine does that mounts the root read-only: with the image's own entrypoint."""
        return self.run(*self.start.entrypoint, *(words or self.start.command), **variables)

    def run(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Any program, as the image's user."""
        told = {"LAYER": str(self.layer), "DATA": str(self.data), "FOLDER": self.start.folder}
        return subprocess.Popen(
            ["unshare", "-m", "sh", "-c", _START, "sh", *words],
            env=self.start.environment | told | {"RUN_AS": self.start.user} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _build(self, stage: Stage, layer: Path) -> None:
        folder, environment = "/", {"PATH": PATH}
        layer.mkdir()
        self._layers[stage.name] = layer
        for word, text in stage.steps:
            if word == "RUN":
                _run(text, layer, folder, environment)
            elif word == "COPY":
                self._copy(text.split(), layer, folder)
            elif word == "ENV":
                environment = read_environment(text, environment)
            elif word == "WORKDIR":
                folder = text
                _inside(layer, folder).mkdir(parents=True, exist_ok=True)
            else:
                assert word in {"USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}, word

    def _copy(self, words: list[str], layer: Path, folder: str) -> None:
        source = REPOSITORY
        if words[0].startswith("--from="):
            source = self._layers[words.pop(0).removeprefix("--from=")]
        *files, to = words
        target = _inside(layer, os.path.join(folder, to))  # noqa: PTH118 - of the image, where an absolute one wins
        for file in files:
            _copy(_inside(source, file), target / Path(file).name if to.endswith("/") else target)


def _run(step: str, layer: Path, folder: str, environment: dict[str, str]) -> None:
    # How the outside is reached from this machine is not the image's matter.
    own = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HOME"))}
    told = {"LAYER": str(layer), "FOLDER": folder, "STEP": step}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _RUN],
        env=own | environment | told,
        capture_output=True,
        text=True,
        timeout=_STEP_S_MAX,
        check=False,
    )
    assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"


def _require_overlay(folder: Path) -> None:
    if os.geteuid() != 0:
        raise NoOverlay("it takes root")
    told = os.environ | {"LAYER": str(folder / "tried")}
    tried = subprocess.run(["unshare", "-m", "sh", "-c", _OVERLAY], env=told, capture_output=True, check=False)
    if tried.returncode != 0:
        raise NoOverlay(tried.stderr.decode())


def _inside(layer: Path, path: str) -> Path:
    return layer / path.lstrip("/")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    without = shutil.ignore_patterns("__pycache__", "*.egg-info") if source.is_relative_to(REPOSITORY) else None
    if source.is_dir() and without is not None:
        shutil.copytree(source, target, ignore=without, dirs_exist_ok=True)
    else:  # With owners, which an image keeps too.
        subprocess.run(["cp", "-a", source, target], check=True)
