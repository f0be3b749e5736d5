"""The units of `deploy/systemd`: systemd takes them as they are, they are held in bounds, and name what there is."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from qirsh.settings import SETTINGS, BadSetting, read_settings
from tests.deploy.restrictions import APPLIED, NO_RESTRICTION, NOT_APPLIED
from tests.deploy.unit_file import UNITS, environment_file, read_unit

SERVICES: Final = ("qirsh.service", "qirsh-backup.service")
TIMER: Final = "qirsh-backup.timer"
DROP_INS: Final = {"mail.conf": SERVICES[:1], "postgresql.conf": SERVICES}
EXPOSURE_MAX: Final = 15  # In tenths: 1.5 of 10.
# What systemd starts before and beside ours, which a folder with our units alone does not have.
_TARGETS: Final = ("sysinit", "basic", "shutdown", "network-online", "timers", "time-set", "time-sync", "multi-user")
_NAME: Final = re.compile(r"\bQIRSH_[A-Z0-9_]+")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A system of one folder, with our units and the programs that they start."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("NOT TESTED: the units, there is no systemd-analyze. As root: apt-get install systemd")
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for name in (*SERVICES, TIMER):
        shutil.copy(UNITS / name, units)
    for name in _TARGETS:
        (units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n")
    for program in ("opt/qirsh/current/bin/python", "bin/kill"):
        file = tmp_path / program
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    yield tmp_path
    shutil.rmtree(units)


def _verify(root: Path) -> subprocess.CompletedProcess[str]:
    return _analyze("verify", "--man=no", f"--root={root}", *SERVICES, TIMER)


def _exposure(root: Path, name: str) -> subprocess.CompletedProcess[str]:
    return _analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", f"--root={root}", name)


def _analyze(*words: str) -> subprocess.CompletedProcess[str]:
    told = os.environ | {"SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["systemd-analyze", *words], env=told, capture_output=True, text=True, check=False)


def _change(root: Path, name: str, old: str, new: str) -> None:
    file = root / "etc/systemd/system" / name
    assert f"\n{old}\n" in file.read_text()
    file.write_text(file.read_text().replace(f"\n{old}\n", f"\n{new}\n"))


def test_systemd_takes_the_units_without_a_word(root: Path) -> None:
    done = _verify(root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", DROP_INS)
def test_systemd_takes_the_drop_ins_without_a_word(root: Path, name: str) -> None:
    for service in DROP_INS[name]:
        folder = root / "etc/systemd/system" / f"{service}.d"
        folder.mkdir()
        shutil.copy(UNITS / name, folder)
    done = _verify(root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ProtectHome=yes", "ProtectHomes=yes"),
        ("KillMode=mixed", "KillMode=mixd"),
        ("SystemCallFilter=@chown", "SystemCallFilter=@chowns"),
        ("ExecReload=/bin/kill -HUP $MAINPID", "ExecReload=/bin/kil -HUP $MAINPID"),
    ],
)
def test_systemd_says_what_it_does_not_take(root: Path, old: str, new: str) -> None:
    _change(root, SERVICES[0], old, new)
    assert _verify(root).stderr


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_exposed_by_no_more_than_one_and_a_half(root: Path, name: str) -> None:
    done = _exposure(root, name)
    assert done.returncode == 0, done.stdout
    assert f"exposure level for {name}" in done.stdout, done.stderr


def test_a_service_that_is_exposed_by_more_is_found(root: Path) -> None:
    _change(root, SERVICES[0], "CapabilityBoundingSet=", "#")
    assert _exposure(root, SERVICES[0]).returncode == 1


def test_every_setting_that_the_units_and_the_files_beside_them_name_is_one() -> None:
    files = [path for path in UNITS.iterdir() if path.is_file()]
    named = {(path.name, name) for path in files for name in _NAME.findall(path.read_text())}
    acts = {"QIRSH_OPERATOR_EMAIL", "QIRSH_OPERATOR_PASSWORD", "QIRSH_OPERATOR_TOTP_SECRET"}  # Of who runs a command.
    assert [one for one in named if one[1].removesuffix("_FILE") not in SETTINGS.keys() | acts] == []
    assert {name for file, name in named if file == "qirsh.env"} >= {"QIRSH_BASE_URL", "QIRSH_SMTP_URL"}


def test_the_settings_are_refused_as_they_are_and_taken_as_they_are_meant() -> None:
    text = (UNITS / "qirsh.env").read_text()
    with pytest.raises(BadSetting, match="QIRSH_BASE_URL is empty"):
        read_settings(environment_file(text))
    meant = environment_file(re.sub(r"^#(?=QIRSH_)", "", text, flags=re.MULTILINE))
    meant |= {"QIRSH_BASE_URL": "https://pay.example.org", "QIRSH_DATABASE_URL": "postgresql://q@localhost/q"}
    settings = read_settings(meant)
    assert (settings.port, settings.workers, settings.operator_name) == (8420, 4, "Example Ltd")


@pytest.mark.parametrize("name", [*SERVICES, *DROP_INS])
def test_each_credential_is_loaded_and_named_by_its_setting(name: str) -> None:
    service = read_unit(UNITS, name).service
    loaded = {one.split(":")[0]: one.split(":")[1] for one in service.get("LoadCredential", [])}
    assert loaded == {setting: f"/etc/qirsh/credentials/{setting}" for setting in loaded}
    files = {one for one in service.get("Environment", []) if "_FILE=" in one}
    assert files == {f"{setting}_FILE=%d/{setting}" for setting in loaded}
    assert loaded or name == "qirsh-backup.service", "a backup on SQLite needs no secret"


@pytest.mark.parametrize("name", SERVICES)
def test_each_line_of_a_service_is_known_to_the_tests(name: str) -> None:
    """So that a new restriction is tried by `test_systemd_restrictions.py`, or said not to be."""
    assert set(read_unit(UNITS, name).service) <= APPLIED | NOT_APPLIED | NO_RESTRICTION


def test_the_service_ends_its_processes_before_systemd_does() -> None:
    """The parent of several gives them 35 seconds."""
    assert int(read_unit(UNITS, SERVICES[0]).last("TimeoutStopSec")) > 35
    assert read_unit(UNITS, SERVICES[0]).last("KillMode") == "mixed"


def test_shellcheck_finds_nothing_in_the_scripts() -> None:
    scripts = [path for path in UNITS.iterdir() if path.read_text().startswith("#!")]
    assert {path.name for path in scripts} == {"install.sh", "qirsh"}
    assert all(path.read_text().startswith("#!/bin/sh\n") for path in scripts)
    assert all(os.access(path, os.X_OK) for path in scripts)
    assert all(len(path.read_text().splitlines()) <= 400 for path in scripts)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("shellcheck")),
            "--enable=check-unassigned-uppercase,deprecate-which",
            *("--external-sources", "--source-path=SCRIPTDIR"),
            *map(str, scripts),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
