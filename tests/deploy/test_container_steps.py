"""The Containerfile's steps without a container engine: built in overlays, started with a root that is read-only."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.deploy.containerfile import REPOSITORY
from tests.deploy.image_trial import ended, try_image
from tests.deploy.layers import Image, NoOverlay

# An image has at most 250 MB, and the base of arm64, the larger one, about 150.
OWN_BYTES_MAX: Final = 100_000_000

# What slim.sh has left must be enough: every module, each language, letters joined in a PDF, a QR code that is read.
_EVERYTHING: Final = """
import datetime, importlib, pkgutil, qirsh
for module in pkgutil.walk_packages(qirsh.__path__, "qirsh."):
    if not module.name.endswith(("__main__", "tracing.otlp")):  # What only `qirsh[otel]` can import.
        importlib.import_module(module.name)
from babel.dates import format_date
day = datetime.date(2026, 11, 18)
print(*(format_date(day, "d MMMM y", locale=code) for code in ("en", "ar", "tr")), sep="; ")
import io, segno, zxingcpp
from PIL import Image
picture = io.BytesIO()
segno.make("https://pay.example.org/1").save(picture, kind="png", scale=8)
print(zxingcpp.read_barcodes(Image.open(picture))[0].text)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    try:
        yield Image(tmp_path_factory.mktemp("image"))
    except NoOverlay as error:
        pytest.skip(f"NOT TESTED: the steps of the Containerfile, for want of an overlay: {error}")


def test_the_layers_of_the_image_are_small_and_hold_no_tool_that_builds(image: Image) -> None:
    assert image.bytes() < OWN_BYTES_MAX
    assert {path.name for path in image.layer.iterdir()} == {"data", "etc", "opt"}
    environment = image.layer / "opt" / "qirsh"
    packages = next(environment.glob("lib/python3*/site-packages"))
    assert not {"pip", "setuptools"} & {path.name for path in packages.iterdir()}
    ours = REPOSITORY / "src" / "qirsh"
    sources = {path.relative_to(ours) for path in ours.rglob("*.*") if "__pycache__" not in path.parts}
    there = {path.relative_to(packages / "qirsh") for path in (packages / "qirsh").rglob("*.*")}
    assert {path for path in sources if path.suffix != ".pyi"} <= there


def test_nothing_but_the_data_can_be_written(image: Image) -> None:
    places = "/ /tmp /var/tmp /run /dev /dev/shm /etc /opt/qirsh /opt/qirsh/bin /proc"
    script = f'for place in {places}; do (: > "$place/x") 2>/dev/null && echo "$place"; done; : > /data/x && rm /data/x'
    assert ended(image.run("sh", "-c", script)) == (0, "")
    assert ended(image.run("id", "-un")) == (0, "qirsh")
    script = "id -u; id -g; id -G; grep -c '^CapEff.*[1-9a-f]$' /proc/self/status"
    assert ended(image.run("sh", "-c", script))[1].split() == ["10001", "10001", "10001", "0"]


def test_everything_that_the_service_needs_is_there(image: Image) -> None:
    code, said = ended(image.run("python3", "-c", _EVERYTHING))
    assert code == 0, said
    assert said.splitlines() == ["18 November 2026; 18 نوفمبر 2026; 18 Kasım 2026", "https://pay.example.org/1"]


def test_it_shows_the_demo_and_serves_and_a_payment_is_paid(image: Image) -> None:
    try_image(image.started, lambda: ended(image.run(*image.start.healthcheck))[0])


def test_a_setting_that_is_wrong_stops_the_start(image: Image) -> None:
    code, said = ended(image.started(QIRSH_BASE_URL="https://<pay.your-domain>"))
    assert code != 0
    assert "QIRSH_BASE_URL: must be" in said
