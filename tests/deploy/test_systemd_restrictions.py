"""The services run under the restrictions of their units: applied here as systemd would, where there is no systemd."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.cli.program import House, proof
from tests.deploy.installation import LOCK, REPOSITORY, THIS_VERSION, wheel_of
from tests.deploy.private_machine import PrivateMachine, private_machine
from tests.deploy.restrictions import NOT_APPLIED
from tests.deploy.unit_file import UNITS, read_unit
from tests.drill.shop import Shop

pytestmark = pytest.mark.slow
SERVICES: Final = ("qirsh.service", "qirsh-backup.service")
WRITTEN: Final = tuple(
    "/var/lib/qirsh /run/qirsh /var/backups/qirsh /tmp /etc /opt/qirsh /var/lib /usr".split()  # noqa: SIM905 - shorter
)
# What comes of each try, of both services.
REFUSED: Final = {
    "list /home": "EACCES",
    "open /dev/kmsg": "ENOENT",
    "netlink": "EAFNOSUPPORT",
    "packet": "EAFNOSUPPORT",
    "inet": "done",
    "writable code": "EPERM",
    "namespace": "EPERM",
    "suid": "EPERM",
    "nice": "EPERM",
    "personality": "EPERM",
    "read-only /sys": True,
    "memory of the machine": "ENOENT",
    "first process": "ENOENT",
    "CapBnd": "0000000000000000",
    "NoNewPrivs": "1",
    "Seccomp": "2",
    "write /tmp": "done",
    "write /var/lib/qirsh": "done",
    "write /etc": "EROFS",
    "write /opt/qirsh": "EROFS",
    "write /var/lib": "EROFS",
    "write /usr": "EROFS",
    "devices": ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"],
}
OF_ONE: Final = {
    "qirsh.service": {"write /run/qirsh": "done", "write /var/backups/qirsh": "EROFS", "own file": "done"},
    "qirsh-backup.service": {"write /run/qirsh": "EROFS", "write /var/backups/qirsh": "done", "own file": "EPERM"},
}
# Imports all of the program, and uses what is compiled and not called by a payment.
NATIVE: Final = """
import importlib.resources, io, pkgutil, qirsh
for module in pkgutil.walk_packages(qirsh.__path__, "qirsh."):
    if not module.name.endswith(("__main__", "tracing.otlp")):  # What only `qirsh[otel]` can import.
        importlib.import_module(module.name)
import argon2, asyncio, asyncpg, segno, uharfbuzz, uvloop, zxingcpp
from cryptography.hazmat.primitives.asymmetric import ec
from PIL import Image
argon2.PasswordHasher().hash("a password")
picture = io.BytesIO()
segno.make("a code").save(picture, kind="png", scale=5)
[read] = zxingcpp.read_barcodes(Image.open(picture))
assert read.text == "a code"
fonts = importlib.resources.files("qirsh.web.documents").joinpath("fonts").iterdir()
file = next(str(file) for file in fonts if file.suffix == ".ttf")
font = uharfbuzz.Font(uharfbuzz.Face(uharfbuzz.Blob.from_file_path(file)))
buffer = uharfbuzz.Buffer()
buffer.add_str("text")
buffer.guess_segment_properties()
uharfbuzz.shape(font, buffer)
ec.generate_private_key(ec.SECP256R1())
uvloop.run(asyncio.to_thread(print, "all of it"))
"""


class Served(NamedTuple):
    """A machine on which the service runs, restricted."""

    machine: PrivateMachine
    url: str
    demo: dict[str, Any]

    def restricted(self, unit: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A program as that unit starts its own."""
        found = (self.machine.files / "var/lib/qirsh").stat()
        line = f"cd {REPOSITORY} && exec {sys.executable} -m tests.deploy.restrictions"
        owner = [f"/etc/systemd/system/{unit}", str(found.st_uid), str(found.st_gid)]
        return self.machine.attempt("sh", "-c", f'{line} "$@"', "sh", *owner, "--", *words)

    def probe(self) -> list[str]:
        """The words that start it."""
        shutil.copy(Path(__file__).with_name("probe.py"), self.machine.files / "opt/qirsh")
        return ["/opt/qirsh/current/bin/python", "/opt/qirsh/probe.py", *WRITTEN]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if os.getuid():
        pytest.skip("NOT TESTED: the services under the restrictions of their units, which takes root")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("NOT TESTED: the services under the restrictions of their units: this machine has no namespaces")
    if shutil.which("systemd-analyze") is None:
        pytest.skip("NOT TESTED: the services under the restrictions of their units. As root: apt-get install systemd")
    folder = tmp_path_factory.mktemp("restricted")
    demo = House(folder / "demo")
    with demo.serving("demo", until="# 4.") as running:
        assert running.stop() == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with private_machine(folder) as machine:
        shutil.copytree(demo.folder, machine.files / "var/lib/qirsh")
        machine.install("install", str(wheel_of(folder, THIS_VERSION)), str(LOCK))
        machine.run("chown", "-R", "qirsh:qirsh", "/var/lib/qirsh")
        settings = machine.files / "etc/qirsh/qirsh.env"
        url = f"http://127.0.0.1:{port}"
        settings.write_text(f"QIRSH_BASE_URL={url}\nQIRSH_PORT={port}\n")
        machine.install("start")
        yield Served(machine, url, demo.demo())
        machine.control("stop", "qirsh.service")
        assert "stopped serving" in machine.log()


@pytest.mark.parametrize("unit", SERVICES)
def test_what_a_service_may_not_do_is_refused(served: Served, unit: str) -> None:
    done = served.restricted(unit, *served.probe())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == REFUSED | OF_ONE[unit]


def test_its_user_may_do_all_of_that_without_the_restrictions(served: Served) -> None:
    """Or is refused for another reason: what is refused above is refused by them."""
    free = json.loads(
        served.machine.run("setpriv", "--reuid=qirsh", "--regid=qirsh", "--clear-groups", *served.probe())
    )
    told = {name: what for name, what in (REFUSED | OF_ONE[SERVICES[0]]).items() if what != "done"}
    assert {name for name, what in told.items() if free[name] == what} == set()
    assert free["own file"] == "done"


@pytest.mark.parametrize("unit", SERVICES)
def test_all_that_is_compiled_works(served: Served, unit: str) -> None:
    """No memory that is both written and run: generators of code would fail."""
    done = served.restricted(unit, "/opt/qirsh/current/bin/python", "-P", "-W", "error", "-c", NATIVE)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr


def test_a_payment_is_paid_and_backed_up(served: Served) -> None:
    shop = Shop(served.url, served.demo)
    payment = shop.create(1_250)
    shop.pay(payment)
    assert shop.get(f"/remote-payments/{payment}")["status"] == "paid"
    served.machine.control("start", "qirsh-backup.service")
    [file] = (served.machine.files / "var/backups/qirsh").glob("qirsh-*.jsonl.gz")
    inside = f"/var/backups/qirsh/{file.name}"
    assert f"{inside} is whole" in served.machine.install("run", "backup", "check", inside)
    assert "rules hold" in served.machine.install("run", "verify")


def test_operators_reach_the_service_and_others_do_not(served: Served) -> None:
    machine = served.machine
    for user in ("alice", "mallory"):
        machine.run("useradd", "--no-create-home", user)
    machine.run("usermod", "--append", "--groups", "qirsh-operators", "alice")
    words = ("/usr/local/bin/qirsh", "audit", "export")
    as_user = {
        user: ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups") for user in ("alice", "mallory")
    }
    told = proof(served.demo["operator"])
    machine.run(*as_user["alice"], *words, **told)
    # That she did is an entry by now. A code serves once, so another operator looks.
    done = machine.run(*as_user["alice"], *words, **proof(served.demo["operator2"]))
    assert "os user alice" in done
    refused = machine.attempt(*as_user["mallory"], *words, **told)
    assert refused.returncode != 0
    assert "you may not use /run/qirsh/control.sock" in refused.stderr


@pytest.mark.parametrize("unit", SERVICES)
def test_what_was_not_tried_is_said(unit: str) -> None:
    """The machine's own systemd would do it."""
    left = sorted(NOT_APPLIED.intersection(read_unit(UNITS, unit).service))
    if left:
        pytest.skip(f"NOT TESTED: of {unit}, since only systemd itself can apply it: {', '.join(left)}")
