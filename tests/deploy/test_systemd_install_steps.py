"""What `install.sh` does when a step fails or is killed, with versions that are a few lines of shell."""

import hashlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.installation import INSTALL, Installation

OLD: Final = "1.0"
NEW: Final = "2.0"

# `tables` is the version that has made the tables: an older one neither starts on them nor backs them up.
_PYTHON: Final = """#!/bin/sh
shift 3
case $1 in
backup)
    [ "$2" != check ] || exit 0
    [ ! -e {root}/away ] && [ $(cat {root}/tables) = {version} ] || exit 1
    echo {version} >"$2"
    ;;
restore) exit 1 ;;
healthcheck) [ "$(cat {root}/serving)" = {version} ] ;;
home) echo "$HOME" ;;
esac
"""
_SYSTEMCTL: Final = """#!/bin/sh
case $1 in
is-active) [ -e {root}/serving ] ;;
stop) rm -f {root}/serving ;;
start)
    if [ "$2" = qirsh.service ]; then
        version=$(readlink {root}/opt/qirsh/current)
        if [ "$version" = "${{KILLED_AT:-}}" ]; then kill -9 "$PPID" && exit; fi
        [ ! -e {root}/away ] && [ ! -e {root}/broken-$version ] || exit 1
        [ "$(printf '%s\\n' "$version" "$(cat {root}/tables)" | sort | tail -n 1)" = "$version" ] || exit 1
        echo "$version" | tee {root}/tables >{root}/serving
    fi
    ;;
esac
"""


class Machine(Installation):
    """With both versions in place, of which the old one serves."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, 1)
        (root / "systemctl").write_text(_SYSTEMCTL.format(root=root))
        self.wheels = {version: self._version(version) for version in (OLD, NEW)}
        (root / "tables").write_text(OLD)
        self.must("install", *self.wheels[OLD])
        self.set()
        self.must("start")

    def _version(self, version: str) -> tuple[str, str]:
        files = self.root / f"qirsh-{version}-py3-none-any.whl", self.root / f"qirsh-{version}.requirements.txt"
        for file in files:
            file.write_text(file.name)
        program = self.root / f"opt/qirsh/{version}/bin/python"
        program.parent.mkdir(parents=True)
        program.write_text(_PYTHON.format(root=self.root, version=version))
        program.chmod(0o755)
        sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  -" for file in files]
        (program.parents[1] / "installed-from").write_text(" ".join(sums) + "\n")
        return str(files[0]), str(files[1])

    def serving(self) -> str:
        """The version; nothing if none does."""
        file = self.root / "serving"
        return file.read_text().strip() if file.exists() else ""

    def refused(self, *words: str) -> str:
        """What it says on failing."""
        done = self.run(*words, READY_TRIES="1")
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed() -> Iterator[tuple[Machine, Path]]:
    """A machine, and a copy of what is on it."""
    with tempfile.TemporaryDirectory(prefix="q-") as folder:
        Path(folder).chmod(0o755)
        machine = Machine(Path(folder) / "r")
        copy = Path(folder) / "copy"
        subprocess.run(["cp", "-a", machine.root, copy], check=True)  # With their owners.
        yield machine, copy


@pytest.fixture
def machine(installed: tuple[Machine, Path]) -> Machine:
    """As it was made: there are paths in its files, so it stays where it is."""
    machine, copy = installed
    shutil.rmtree(machine.root)
    subprocess.run(["cp", "-a", copy, machine.root], check=True)
    return machine


def test_a_command_has_the_home_of_the_service(machine: Machine) -> None:
    assert machine.must("run", "home", HOME="/root") == f"{machine.root}/var/lib/qirsh\n"


def test_where_the_tables_are_newer_already_the_new_version_takes_the_backup(machine: Machine) -> None:
    (machine.root / "tables").write_text(NEW)  # By another machine, or `qirsh migrate`.
    said = machine.must("upgrade", *machine.wheels[NEW])
    assert f"version {OLD} cannot take the backup" in said
    [file] = (machine.root / "var/backups/qirsh").iterdir()
    assert file.name.startswith(f"with-{NEW}-")
    assert (file.read_text(), machine.serving()) == (f"{NEW}\n", NEW)
    assert str(file) not in said.splitlines()[-1], "no older version restores it"


def test_without_any_backup_it_is_said_whether_the_old_version_serves(machine: Machine) -> None:
    (machine.root / "tables").write_text("0.5")  # Of neither.
    assert machine.refused("upgrade", *machine.wheels[NEW]).endswith("there is no backup, so nothing was changed\n")
    assert (machine.current(), machine.serving()) == (OLD, OLD)
    (machine.root / "away").touch()
    said = machine.refused("upgrade", *machine.wheels[NEW])
    assert said.endswith(
        f"there is no backup, so nothing was changed; version {OLD} does not serve now: journalctl -u qirsh tells why\n"
    )
    assert machine.current() == OLD
    (machine.root / "away").unlink()
    machine.must("upgrade", *machine.wheels[NEW])
    assert machine.serving() == NEW


def test_where_neither_serves_only_a_backup_of_the_old_version_is_named(machine: Machine) -> None:
    (machine.root / f"broken-{NEW}").touch()
    (machine.root / f"broken-{OLD}").touch()
    said = machine.refused("upgrade", *machine.wheels[NEW])
    [file] = (machine.root / "var/backups/qirsh").iterdir()
    assert said.endswith(f"back --restore {file}\n")
    (machine.root / "tables").write_text(NEW)
    assert machine.refused("upgrade", *machine.wheels[NEW]).endswith("back --restore FILE (a backup of before)\n")


def _goes_on_back(machine: Machine) -> None:
    """From a way back that was killed when the older version was the current one."""
    assert (machine.current(), machine.serving()) == (OLD, "")
    assert f"a way back from version {NEW} was ended before its end; it goes on: {INSTALL} back\n" in machine.refused(
        "start"
    )


def test_a_way_back_that_was_killed_goes_on_to_the_newer_version_whose_tables_they_are(machine: Machine) -> None:
    machine.must("upgrade", *machine.wheels[NEW])
    assert machine.run("back", KILLED_AT=OLD).returncode == -signal.SIGKILL
    _goes_on_back(machine)
    assert f"version {NEW} serves as before" in machine.refused("back")
    assert (machine.current(), machine.serving()) == (NEW, NEW)

    # Also when it was killed in this, or when that version does not serve at first.
    assert machine.run("back", KILLED_AT=NEW).returncode == -signal.SIGKILL
    machine.must("start")
    assert machine.serving() == NEW
    assert not (machine.root / "opt/qirsh/newer").is_symlink()


def test_an_upgrade_that_was_killed_on_its_way_back_goes_back_or_on(machine: Machine) -> None:
    (machine.root / f"broken-{NEW}").touch()
    assert machine.run("upgrade", *machine.wheels[NEW], KILLED_AT=OLD).returncode == -signal.SIGKILL
    (machine.root / "tables").write_text(NEW)
    _goes_on_back(machine)
    assert f"version {NEW} does not serve either" in machine.refused("back")
    assert machine.current() == NEW
    (machine.root / f"broken-{NEW}").unlink()
    machine.must("start")
    assert machine.serving() == NEW


@pytest.mark.slow
def test_a_way_back_that_was_killed_is_forgotten_once_a_version_serves(machine: Machine) -> None:
    machine.must("upgrade", *machine.wheels[NEW])
    (machine.root / "tables").write_text(OLD)
    assert machine.run("back", KILLED_AT=OLD).returncode == -signal.SIGKILL
    assert f"version {OLD} serves, with everything" in machine.must("back")
    assert f"version {OLD} is the current one already" in machine.refused("back")

    machine.must("upgrade", *machine.wheels[NEW])
    assert machine.run("back", KILLED_AT=OLD).returncode == -signal.SIGKILL
    machine.must("upgrade", *machine.wheels[NEW])
    assert not (machine.root / "opt/qirsh/newer").is_symlink()


_PLACE: Final = "on PostgreSQL a restore needs an empty database: name it in "


_OF_SETTINGS: Final = "QIRSH_DATABASE_URL of {etc}/qirsh.env"
_PLACES: Final[tuple[tuple[dict[str, str], str], ...]] = (
    ({"QIRSH_DATABASE_URL": "postgresql://q@localhost/q"}, _OF_SETTINGS),
    ({"QIRSH_DATABASE_URL": "'postgres://q@localhost/q'"}, _OF_SETTINGS),
    ({"QIRSH_DATABASE_URL_FILE": "/srv/url"}, "/srv/url"),
    ({"QIRSH_DATABASE_URL": "sqlite:////srv/qirsh.db"}, ""),
    ({}, ""),
)


def test_a_restore_that_needs_an_empty_database_says_so_wherever_the_address_is(
    machine: Machine, subtests: pytest.Subtests
) -> None:
    machine.must("upgrade", *machine.wheels[NEW])
    [file] = (machine.root / "var/backups/qirsh").iterdir()
    etc = machine.root / "etc/qirsh"
    settings = (etc / "qirsh.env").read_text()
    for setting, place in _PLACES:
        with subtests.test(" ".join(setting.values())):
            (etc / "qirsh.env").write_text(settings)
            machine.set(**setting)
            said = machine.refused("back", "--restore", str(file))
            assert said.endswith("the backup was not restored, and all is as before\n")
            assert (_PLACE in said) == bool(place)
            assert _PLACE + place.format(etc=etc) in said or not place
            assert (machine.current(), machine.serving()) == (NEW, NEW)
            assert not (machine.root / "opt/qirsh/newer").is_symlink()
    credential = etc / "credentials/QIRSH_DATABASE_URL"
    credential.write_text("postgresql://q@localhost/q")
    assert f"{_PLACE}{credential}, and run this again" in machine.refused("back", "--restore", str(file))
