"""The image as buildah builds it from the Containerfile, started by it, where this machine allows that.

Its base is the one that the file names, where a registry can be reached. Elsewhere Debian's bootstrap stands for it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.deploy.containerfile import CONTAINERFILE, REPOSITORY, read_stages
from tests.deploy.image_trial import ended, try_image

IMAGE_BYTES_MAX: Final = 250_000_000
_NAME: Final = "localhost/qirsh:tested"
_STAND_IN: Final = "localhost/base:tested"
_PACKAGES: Final = "ca-certificates,python3,python3-venv,python3-pip"
_PULL_S_MAX: Final = 300
_CERTIFICATES: Final = "/etc/ssl/certs"

pytestmark = pytest.mark.slow


class Buildah:
    """With images in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        places = ("--root", str(folder / "images"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")
        self._program = ("buildah", *places)

    def do(self, *words: str, timeout_s: float | None = None) -> str:
        """What it prints. Raises `AssertionError` with what it says, if it does not succeed."""
        try:
            done = subprocess.run(
                [*self._program, *words],
                cwd=REPOSITORY,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            raise AssertionError("it takes too long") from None
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()

    def run(self, container: str, *words: str, **variables: str) -> subprocess.Popen[str]:
        """In a container, by the image's user and in its environment."""
        told = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        return subprocess.Popen(
            [*self._program, "run", "--isolation", "chroot", *told, container, "--", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


class Base(NamedTuple):
    """What the image is built on: a name, and why it is not the one of the file."""

    buildah: Buildah
    name: str
    why_other: str


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Base]:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: the image, since buildah's isolation by chroot takes root")
    for program in ("buildah", "debootstrap"):
        if shutil.which(program) is None:
            pytest.skip(f"NOT TESTED: the image, since there is no {program} here")
    buildah = Buildah(tmp_path_factory.mktemp("buildah"))
    try:
        buildah.do("rm", buildah.do("from", "scratch"))
    except AssertionError as error:
        pytest.skip(f"NOT TESTED: the image, since buildah does not work here: {error}")
    name = read_stages()[0].base
    try:
        buildah.do("pull", "-q", name, timeout_s=_PULL_S_MAX)
    except AssertionError as error:
        yield Base(buildah, _STAND_IN, str(error).splitlines()[0])
    else:
        yield Base(buildah, name, "")
    shutil.rmtree(buildah.folder)


@pytest.fixture(scope="module")
def built(base: Base) -> Buildah:
    """With the image."""
    buildah, name, why_other = base
    if why_other:
        _make_stand_in(buildah)
    # How the outside is reached from this machine is not the image's matter.
    outside = ("--volume", f"{_CERTIFICATES}:{_CERTIFICATES}:ro") if why_other else ()
    words = ("--format", "docker", "--isolation", "chroot", "--build-arg", f"BASE={name}", *outside)
    buildah.do("build", "-q", *words, "-f", str(CONTAINERFILE), "-t", _NAME, ".")
    return buildah


def _make_stand_in(buildah: Buildah) -> None:
    tree = buildah.folder / "tree"
    words = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(tree)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:]
    container = buildah.do("from", "scratch")
    buildah.do("add", "-q", container, str(tree), "/")
    buildah.do("commit", "-q", "--rm", container, _STAND_IN)
    shutil.rmtree(tree)


def test_the_image_shows_the_demo_and_serves_and_a_payment_is_paid(built: Buildah) -> None:
    told = json.loads(built.do("inspect", "--type", "image", _NAME))["Docker"]["config"]
    assert (told["User"], told["Entrypoint"], told["Cmd"]) == ("10001:10001", ["entrypoint"], ["serve"])
    assert told["Healthcheck"]["Test"] == ["CMD", "qirsh", "healthcheck"]
    assert list(told["ExposedPorts"]) == ["8420/tcp"]
    assert list(told["Volumes"]) == ["/data"]
    container = built.do("from", "--pull-never", _NAME)

    def entered(*words: str, **variables: str) -> subprocess.Popen[str]:
        return built.run(container, *told["Entrypoint"], *(words or told["Cmd"]), **variables)

    try:
        assert ended(built.run(container, "id", "-u")) == (0, "10001")
        try_image(entered, lambda: ended(built.run(container, *told["Healthcheck"]["Test"][1:]))[0])
    finally:
        built.do("rm", container)


def test_the_image_on_its_true_base_has_at_most_250_mb(base: Base, request: pytest.FixtureRequest) -> None:
    if base.why_other:
        pytest.skip(f"NOT TESTED: the size on the base that is named, which cannot be had: {base.why_other}")
    buildah: Buildah = request.getfixturevalue("built")
    [image] = json.loads(buildah.do("images", "--json", _NAME))
    assert _bytes(image["size"]) <= IMAGE_BYTES_MAX


def _bytes(size: str) -> float:
    number, unit = size.split()
    return float(number) * {"MB": 1e6, "GB": 1e9}[unit]
