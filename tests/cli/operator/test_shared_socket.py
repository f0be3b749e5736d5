"""The control socket for a group: operators' commands by another user, who can open nothing of the service's data."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import apsw
import pytest

from tests.cli.program import PASSWORD, Ended, House, proof
from tests.forked import Program, start

SERVICE: Final = 61_001
OPERATOR: Final = 61_002
STRANGER: Final = 61_003
GROUP: Final = 61_000
# Under another user and other groups, the program as `python -m qirsh` runs it.
AS_USER: Final = (
    "import os, runpy, sys\n"
    "user, groups, *words = sys.argv[1:]\n"
    "os.setgroups([int(group) for group in groups.split()])\n"
    "os.setgid(int(user)); os.setuid(int(user))\n"
    "sys.argv = ['qirsh', *words]\n"
    "runpy.run_module('qirsh', run_name='__main__')\n"
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="NOT TESTED: operators as other users of the machine. Only root can become them; run this as root.",
)


class UserHouse(House):
    """A house whose programs run as the service's own user."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data")
        self.socket = folder / "run" / "control.sock"

    def environment(self, **variables: str) -> dict[str, str]:
        shared = {"QIRSH_CONTROL_SOCKET": str(self.socket), "QIRSH_OPERATORS_GROUP": str(GROUP)}
        return super().environment(**shared | variables)

    def started(self, *words: str, umask: int = -1, first: str = "", **variables: str) -> Program:
        assert not first, "it becomes another user first"
        return self._as(SERVICE, f"{GROUP}", words, umask=umask, environment=self.environment(**variables))

    def asked(self, user: int, groups: str, *words: str, stdin: str = "", **variables: str) -> Ended:
        """A command by another user, who is told the socket and nothing else."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
        told = clean | {"QIRSH_CONTROL_SOCKET": str(self.socket)} | variables
        with self._as(user, groups, words, umask=-1, environment=told) as process:
            printed, complained = process.communicate(stdin)
            return Ended(process.wait(), printed, complained)

    @staticmethod
    def _as(user: int, groups: str, words: tuple[str, ...], *, umask: int, environment: dict[str, str]) -> Program:
        pipe = subprocess.PIPE
        told = ["-c", AS_USER, str(user), groups, *words]
        return start(told, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, umask=umask)


class Desk(NamedTuple):
    """A service that runs, and who may use it."""

    house: UserHouse
    first: dict[str, str]
    account: str


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Other users come this far."""
    with tempfile.TemporaryDirectory(prefix="qirsh") as name:
        top = Path(name)
        top.chmod(0o711)
        for one, mode in (("data", 0o700), ("run", 0o755)):
            (top / one).mkdir(mode=mode)
            os.chown(top / one, SERVICE, SERVICE)
        yield top


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Desk]:
    house = UserHouse(folder)
    with house.serving("serve", until="no operator yet"):
        words = ("operator", "create", "--email", "a@x.org", "--name", "A", "--password-stdin", "--json")
        made = house.asked(OPERATOR, f"{GROUP}", *words, stdin=PASSWORD)
        assert made.returncode == 0, made.stderr
        done = json.loads(made.stdout)["done"]
        yield (
            Desk(
                house,
                proof({"email": "a@x.org", "password": PASSWORD, "totpSecret": done["totpSecret"]}),
                done["account"],
            )
        )


def actors(house: UserHouse) -> list[str]:
    with closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return [actor for (actor,) in connection.execute("SELECT actor FROM audit ORDER BY id")]


def test_a_member_of_the_group_acts_and_the_audit_entry_names_their_user(desk: Desk) -> None:
    listed = desk.house.asked(OPERATOR, f"{GROUP}", "operator", "list", "--json", **desk.first)
    assert listed.returncode == 0, listed.stderr
    words = ("person", "add", "--email", "p@x.org", "--name", "P", "--password-stdin", "--pin-stdin", "--json")
    added = desk.house.asked(OPERATOR, f"{GROUP}", *words, stdin=f"{PASSWORD}\n246813\n", **desk.first)
    assert added.returncode == 0, added.stderr
    names = actors(desk.house)
    assert f"first start (os user {OPERATOR})" in names
    assert names[-1] == f"operator 1 (os user {OPERATOR})"


def test_a_member_of_the_group_reads_neither_data_nor_secret(desk: Desk) -> None:
    code = (
        "import os, sys\nos.setgroups([int(sys.argv[2])]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))\n"
    )
    code += (
        "for path in sys.argv[3:]:\n    try:\n        open(path)\n        print('open')\n    except PermissionError:\n"
    )
    code += "        print('closed')\n"
    paths = [str(desk.house.folder / name) for name in ("qirsh.db", "secret.key", "serving.json")]
    told = ["-c", code, str(OPERATOR), str(GROUP), *paths]
    with start(told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed, complained = process.communicate()
    assert (printed.split(), complained) == (["closed"] * 3, "")
    assert all(Path(path).exists() for path in paths)


def test_who_is_not_in_the_group_is_refused_in_words(desk: Desk) -> None:
    refused = desk.house.asked(STRANGER, "", "operator", "list", **desk.first)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"qirsh: you may not use {desk.house.socket}: it is for the service's own user")
    assert "Traceback" not in refused.stderr


def test_a_wrong_try_is_recorded_with_the_user_who_made_it(desk: Desk) -> None:
    wrong = desk.house.asked(OPERATOR, f"{GROUP}", "operator", "list", **desk.first | {"QIRSH_OPERATOR_PASSWORD": "no"})
    assert wrong.stderr.startswith("refused: wrong_credentials: ")
    assert actors(desk.house)[-1] == f"os user {OPERATOR}"


def test_without_a_server_nothing_is_opened(desk: Desk, folder: Path) -> None:
    away = str(folder / "run" / "other.sock")
    elsewhere = {"QIRSH_CONTROL_SOCKET": away, "QIRSH_DATA_DIR": str(folder / "data")}
    for words in (("operator", "list"), ("operator", "create", "--email", "b@x.org", "--name", "B")):
        # Also the user whose data it is talks to the socket alone.
        for user in (OPERATOR, SERVICE):
            asked = desk.house.asked(user, f"{GROUP}", *words, **desk.first | elsewhere)
            assert (asked.returncode, asked.stdout) == (2, "")
            assert asked.stderr.startswith(f"qirsh: no server listens on {away}: ")


def test_a_group_that_the_service_may_not_give_its_socket_to_stops_the_start(folder: Path) -> None:
    house = UserHouse(folder)
    settings = {
        "QIRSH_DATA_DIR": str(folder / "run" / "d"),
        "QIRSH_CONTROL_SOCKET": str(folder / "run" / "no.sock"),
        "QIRSH_OPERATORS_GROUP": str(GROUP + 9),
    }
    refused = house.run("serve", **settings)
    assert refused.returncode == 2
    assert "QIRSH_OPERATORS_GROUP: the service may not give its control socket to the group 61009" in refused.stderr
    assert not (folder / "run" / "no.sock").exists()
