"""`install.sh` in a folder of its own: from nothing to a service, to another version, and back."""

import contextlib
import fcntl
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from qirsh.store import migrate
from tests.cli.program import House
from tests.deploy.installation import LOCK, REPOSITORY, THIS_VERSION, Installation, wheel_of
from tests.drill.shop import CallRefused, Shop

NEXT: Final = "99.0.0"
BROKEN: Final = "99.1.0"  # Does not come to serve.
MIGRATED: Final = "99.2.0"  # Changes the tables.


@pytest.fixture
def machine() -> Iterator[Installation]:
    """With nothing on it. Its path is short, since it holds a socket."""
    with tempfile.TemporaryDirectory(prefix="q-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        machine = Installation(Path(folder) / "r", port)
        try:
            yield machine
        finally:
            with contextlib.suppress(FileNotFoundError):
                machine.stop()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> House:
    """People and money, at rest."""
    house = House(tmp_path_factory.mktemp("demo") / "d")
    with house.serving("demo", until="# 4.") as running:
        assert running.stop() == 0
    return house


def test_a_wheel_of_another_name_a_missing_lock_and_no_version_are_refused(
    machine: Installation, tmp_path: Path
) -> None:
    (tmp_path / "other-1.0-py3-none-any.whl").touch()
    assert "is not named qirsh-VERSION" in machine.run("install", f"{tmp_path}/other-1.0-py3-none-any.whl").stderr
    (tmp_path / "qirsh-1.0-py3-none-any.whl").touch()
    refused = machine.run("install", f"{tmp_path}/qirsh-1.0-py3-none-any.whl")
    assert "there is no lock" in refused.stderr
    assert refused.returncode == 1
    for command in ("upgrade", "back", "run", "start"):
        refused = machine.run(command, f"{tmp_path}/qirsh-1.0-py3-none-any.whl")
        assert refused.returncode == 1, command
        assert refused.stderr.startswith("qirsh install: "), refused.stderr
    assert "install.sh upgrade WHEEL" in machine.run("help").stdout
    refused = machine.run("upgrad", f"{tmp_path}/qirsh-1.0-py3-none-any.whl")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "there is no command upgrad: " in refused.stderr


def test_two_at_once_are_one(machine: Installation, tmp_path: Path) -> None:
    folder = machine.root / "opt/qirsh"
    folder.mkdir(parents=True)
    with (folder / "install.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for command in ("install", "upgrade", "start", "back", "units"):
            refused = machine.run(command, f"{tmp_path}/qirsh-1.0-py3-none-any.whl")
            assert (refused.returncode, refused.stderr) == (1, "qirsh install: another install.sh is at work\n")
    assert not (machine.root / "etc").exists()


def test_what_an_installation_makes_is_made_once_and_closed_to_others(machine: Installation, tmp_path: Path) -> None:
    """Up to the program itself, which a wheel that is none does not become."""
    wheel = tmp_path / "qirsh-1.0-py3-none-any.whl"
    said = machine.run("install", str(wheel), str(LOCK))
    assert "there is no wheel" in said.stderr
    secret = machine.root / "etc/qirsh/credentials/QIRSH_SECRET_KEY"
    first = secret.read_text()
    assert len(first) == 64
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.parent.stat().st_mode) == stat.S_IMODE(machine.house.folder.stat().st_mode) == 0o700
    machine.set()
    assert "is there and stays" in machine.run("install", str(wheel), str(LOCK)).stdout
    assert secret.read_text() == first
    assert machine.url in (machine.root / "etc/qirsh/qirsh.env").read_text()


@pytest.mark.slow
def test_a_version_is_installed_and_upgraded_and_taken_back(machine: Installation, demo: House, tmp_path: Path) -> None:
    known = machine.settle(demo)
    first, second = wheel_of(tmp_path, THIS_VERSION), wheel_of(tmp_path, NEXT)
    for version in (THIS_VERSION, NEXT):  # Beside the wheel, as a release has it, it need not be named.
        shutil.copy(LOCK, first.parent / f"qirsh-{version}.requirements.txt")
    assert second.parent == first.parent
    machine.must("install", str(first))
    assert machine.run("start").returncode == 1, "nobody has said yet where the service is reached"
    machine.set()
    machine.own_data()
    machine.must("install", str(first))
    machine.must("start")
    shop = Shop(machine.url, known)
    paid = [shop.paid(12_50)]
    assert machine.run("install", str(second)).returncode == 1, "that is an upgrade"

    said = machine.must("upgrade", str(second))
    [file] = (machine.root / "var/backups/qirsh").glob(f"before-{NEXT}-*.jsonl.gz")
    assert f"back --restore {file}\n" in said
    assert machine.current() == NEXT
    assert NEXT in machine.must("run", "--version")
    shop = Shop(machine.url, known)
    paid.append(shop.paid(12_50))

    assert machine.stop() == 0
    assert "it does not run; to start it: " in machine.must("upgrade", str(second))
    (tmp_path / "changed").mkdir()
    changed = wheel_of(tmp_path / "changed", NEXT, **{"changed.py": "# Of the same version."})
    refused = machine.run("upgrade", str(changed), str(LOCK))
    assert (refused.returncode, "from another wheel or lock of the same version" in refused.stderr) == (1, True)
    machine.must("start")

    machine.must("back")
    assert machine.current() == THIS_VERSION
    shop = Shop(machine.url, known)
    paid.append(shop.paid(12_50))
    assert [shop.status(payment) for payment in paid] == ["paid"] * 3
    machine.must("run", "verify")
    refused = machine.run("back")
    assert (refused.returncode, f"version {THIS_VERSION} is the current one already" in refused.stderr) == (1, True)
    assert shop.status(shop.paid(12_50)) == "paid"
    assert machine.stop() == 0
    assert "stopped serving" in machine.log()


@pytest.mark.slow
def test_an_upgrade_that_was_killed_goes_on_where_it_was(machine: Installation, demo: House, tmp_path: Path) -> None:
    known = machine.settle(demo)
    machine.must("install", str(wheel_of(tmp_path, THIS_VERSION)), str(LOCK))
    machine.set()
    machine.own_data()
    machine.must("start")
    next_one = (str(wheel_of(tmp_path, NEXT)), str(LOCK))
    for verb in ("stop", "daemon-reload"):
        killed = machine.run("upgrade", *next_one, SYSTEMCTL=str(machine.killing_systemctl(verb)))
        assert killed.returncode == -signal.SIGKILL
        assert machine.current() == (THIS_VERSION if verb == "stop" else NEXT)
    lent = machine.root / "run/qirsh-credentials.4194305.killed"  # No process has this number.
    lent.mkdir()
    assert "it goes on" in machine.must("upgrade", *next_one)
    assert not lent.exists()
    assert machine.current() == NEXT
    shop = Shop(machine.url, known)
    assert shop.status(shop.paid(12_50)) == "paid"
    # Who stops it afterwards has stopped it.
    assert machine.stop() == 0
    assert "it does not run; to start it: " in machine.must("upgrade", *next_one)


@pytest.mark.slow
def test_a_version_that_is_not_ready_is_left_and_one_that_migrated_only_by_its_backup(
    machine: Installation, demo: House, tmp_path: Path
) -> None:
    known = machine.settle(demo)
    machine.must("install", str(wheel_of(tmp_path, THIS_VERSION)), str(LOCK))
    machine.set()
    machine.own_data()
    machine.must("start")
    paid = Shop(machine.url, known).paid(12_50)

    program = (REPOSITORY / "src/qirsh/cli/serve/command.py").read_text()
    broken = program.replace("    settings = read_settings()\n", "    sys.exit(3)\n", 1)
    wheel = wheel_of(tmp_path, BROKEN, **{"cli/serve/command.py": broken})
    refused = machine.run("upgrade", str(wheel), str(LOCK), READY_TRIES="1")
    assert refused.returncode == 1
    assert f"version {THIS_VERSION} serves again; nothing is lost" in refused.stderr
    assert machine.current() == THIS_VERSION
    shop = Shop(machine.url, known)
    assert shop.status(paid) == "paid"
    before = shop.paid(12_50)

    number = migrate.migrations("sqlite")[-1].number + 1
    added = {f"store/migrations/{number:04}_added.sqlite.sql": "CREATE TABLE added (number INTEGER);\n"}
    machine.must("upgrade", str(wheel_of(tmp_path, MIGRATED, **added)), str(LOCK))
    after = Shop(machine.url, known).paid(12_50)
    refused = machine.run("back", READY_TRIES="1")
    assert refused.returncode == 1
    assert f"the database has schema {number}" in machine.log()
    assert f"version {MIGRATED} serves as before" in refused.stderr
    assert Shop(machine.url, known).status(after) == "paid"

    [file] = (machine.root / "var/backups/qirsh").glob(f"before-{MIGRATED}-*.jsonl.gz")
    (tmp_path / "none.gz").write_text("no backup")
    for words, why in (
        (("--restoer", str(file)), "not --restoer"),
        (("--restore", str(tmp_path / "none.gz")), "so nothing was changed"),
    ):
        refused = machine.run("back", *words)
        assert (refused.returncode, why in refused.stderr) == (1, True), refused.stderr
        assert machine.current() == MIGRATED
        assert Shop(machine.url, known).status(after) == "paid"
    machine.must("back", "--restore", file.name, folder=file.parent)
    assert machine.current() == THIS_VERSION
    shop = Shop(machine.url, known)
    assert shop.status(paid) == shop.status(before) == "paid"
    with pytest.raises(CallRefused, match="404"):
        shop.get(f"/remote-payments/{after}")
    with pytest.raises(CallRefused, match="money_stopped"):
        shop.paid(12_50)

    # While money stands still nobody is ready, and what answers is left to answer.
    said = machine.must("upgrade", str(wheel_of(tmp_path, NEXT)), str(LOCK), READY_TRIES="20")
    assert "takes no payments now: " in said
    assert Shop(machine.url, known).status(paid) == "paid"
    assert f"version {THIS_VERSION} serves" in machine.must("back", READY_TRIES="20")
    assert "takes no payments until" in machine.must("start", READY_TRIES="2")
    assert Shop(machine.url, known).status(paid) == "paid"
