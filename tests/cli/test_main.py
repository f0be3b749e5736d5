"""How the program ends, and what it never takes from the command line."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from qirsh import __version__
from qirsh.cli.main import qirsh
from tests.cli.program import QIRSH, House
from tests.forked import start

COMMANDS = (
    *(["demo"], ["serve"], ["status"], ["verify"], ["doctor"], ["key", "revoke", "key_1"]),
    *(["listen", "--forward-to", "http://localhost:3000/"], ["trigger", "refund.created"], ["events", "list"]),
)


def parameters(command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from parameters(child)
    for parameter in command.params:
        yield f"{command.name} {parameter.name}", parameter


def test_the_program_says_its_version_and_lists_its_commands_and_settings(empty: House) -> None:
    assert empty.run("--version").stdout.startswith(f"qirsh {__version__}")
    text = empty.run("--help").stdout
    for word in ("demo", "serve", "status", "verify", "doctor", "operator", "deposit", "QIRSH_DATA_DIR"):
        assert word in text


def test_the_help_says_who_reads_a_reason(empty: House) -> None:
    for verb, words in (("suspend", "the owner and the staff do not see it"), ("reject", "The owner reads it")):
        assert words in " ".join(empty.run("account", verb, "--help").stdout.split())


def test_no_secret_can_be_given_as_an_argument_and_click_reads_no_environment() -> None:
    for name, parameter in parameters(qirsh):
        assert parameter.envvar is None, name
        if any(word in name.split()[-1] for word in ("password", "pin", "code", "totp", "secret")):
            assert isinstance(parameter, click.Option), name
            assert parameter.is_flag, name


def test_a_misspelt_or_wrong_setting_stops_every_command_with_one_line(empty: House, subtests: pytest.Subtests) -> None:
    wrong = {"QIRSH_PROT": "8420", "QIRSH_PORT": "http", "QIRSH_HOST": "", "QIRSH_SECRET_KEY": "x"}
    for command, (name, value) in product(COMMANDS, wrong.items()):
        with subtests.test(" ".join([*command, name])):
            ended = empty.invoke(*command, **{name: value})
            assert ended.returncode == 2
            assert ended.stderr.startswith(f"qirsh: {name}")
            assert ended.stderr.count("\n") == 1
            assert not empty.folder.exists()


@pytest.mark.parametrize("command", [["serve"], ["demo"], ["key", "revoke", "key_1"]], ids=" ".join)
def test_a_data_directory_that_is_a_file_is_told_in_one_line(command: list[str], empty: House) -> None:
    empty.folder.write_text("a file")
    ended = empty.run(*command)
    assert ended.returncode == 2
    assert ended.stderr.startswith("qirsh: ")
    assert "Traceback" not in ended.stderr


def test_a_file_that_is_no_database_is_told_in_one_line_and_left_as_it_is(empty: House) -> None:
    empty.folder.mkdir()
    empty.database.write_bytes(b"not a database, but long enough to have a header of its own" * 20)
    ended = empty.run("serve")
    assert ended.returncode == 2
    assert ended.stderr.startswith("qirsh: ")
    assert ended.stderr.endswith("file is not a database\n")
    assert ended.stderr.count("\n") == 1
    assert empty.database.read_bytes().startswith(b"not a database")


def test_a_second_server_on_the_same_data_is_refused_in_one_line(served: tuple[House, object]) -> None:
    house, _ = served
    for command in ("serve", "demo"):
        ended = house.run(command)
        assert ended.returncode == 2
        assert ended.stderr.startswith("qirsh: another Qirsh process (pid ")
        assert ended.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_told_in_one_line(empty: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = empty.run("serve", QIRSH_PORT=port)
    assert ended.returncode == 2
    assert f"qirsh: another program listens on 127.0.0.1 port {port}: set QIRSH_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_host_that_is_not_ours_is_told_in_one_line(empty: House) -> None:
    ended = empty.run("serve", QIRSH_HOST="192.0.2.1")
    assert ended.returncode == 2
    assert "qirsh: cannot listen on 192.0.2.1 port 0" in ended.stderr


def test_a_folder_too_long_for_a_socket_is_told_in_one_line(empty: House) -> None:
    ended = House(empty.folder / ("x" * 100)).run("serve")
    assert ended.returncode == 2
    assert "use a shorter path" in ended.stderr


def run_unread(
    house: House, words: list[str], variables: dict[str, str], *, with_stderr: bool = False
) -> tuple[int, str]:
    """The code, and what is said, of a program whose reader has gone before it begins, as with `| true`."""
    read, write = os.pipe()
    os.close(read)
    stderr = write if with_stderr else subprocess.PIPE
    environment = house.environment(**variables)
    with start([*QIRSH, *words], env=environment, stdin=subprocess.PIPE, stdout=write, stderr=stderr) as process:
        os.close(write)
        _, complained = process.communicate()
        return process.wait(), complained


def test_without_a_reader_it_ends_in_silence_as_by_the_signal_for_that(house: House, subtests: pytest.Subtests) -> None:
    for command in (
        *(["account", "list"], ["account", "list", "--json"], ["operator", "list"], ["identity", "list"]),
        *(["doctor"], ["status"], ["status", "--env"], ["verify"], ["--help"], ["--version"], ["account", "--help"]),
    ):
        with subtests.test(" ".join(command)):
            assert run_unread(house, command, house.operator()) == (128 + signal.SIGPIPE, "")


def test_what_went_wrong_and_cannot_be_told_either_ends_likewise(empty: House) -> None:
    assert run_unread(empty, ["status"], {"QIRSH_PROT": "1"}, with_stderr=True) == (128 + signal.SIGPIPE, "")


def test_a_pipe_that_broke_elsewhere_is_told() -> None:
    group = type(qirsh)("qirsh")

    @group.command("lost")
    def lost() -> None:
        read, write = os.pipe()
        os.close(read)
        try:
            os.write(write, b"x")
        finally:
            os.close(write)

    ended = CliRunner().invoke(group, ["lost"])
    assert (ended.exit_code, ended.stderr) == (2, "qirsh: Broken pipe\n")


@pytest.mark.parametrize(("flags", "environment"), [(["-O"], {}), (["-OO"], {}), ([], {"PYTHONOPTIMIZE": "1"})])
def test_without_assertions_nothing_starts(flags: list[str], environment: dict[str, str]) -> None:
    command = [sys.executable, *flags, "-m", "qirsh", "--version"]
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "qirsh: python -O and PYTHONOPTIMIZE are refused, because assertions guard money\n"


INTERRUPTED = """
import os, runpy, signal, sys

class Presser:
    def find_spec(self, name, *_more):
        if name == library:
            os.kill(os.getpid(), signal.SIGINT)

_, library, how, *words = sys.argv
if how == "ignored":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.meta_path.insert(0, Presser())
sys.argv = ["qirsh", *words]
runpy.run_module("qirsh", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("words", "is_ignored"),
    [
        pytest.param(["click", "--version"], False, id="at its start-in front"),
        pytest.param(["click", "--version"], True, id="at its start-in the background"),
        pytest.param(["uvicorn", "--help"], False, id="for a command-in front"),
        # It loads all of the program, afresh.
        pytest.param(["uvicorn", "--help"], True, id="for a command-in the background", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_while_the_program_is_loaded_ends_it_in_silence(*, is_ignored: bool, words: list[str]) -> None:
    library, *asked = words
    command = [sys.executable, "-c", INTERRUPTED, library, "ignored" if is_ignored else "heard", *asked]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.returncode == (0 if is_ignored else -signal.SIGINT)
    assert ("qirsh" in ended.stdout) == is_ignored


@pytest.mark.parametrize("words", [["--version"], ["healthcheck"]], ids=" ".join)
def test_what_is_asked_every_few_seconds_loads_little(words: list[str], tmp_path: Path) -> None:
    """The service and its libraries take most of a second."""
    code = "import runpy, sys\ntry: runpy.run_module('qirsh', run_name='__main__')\nfinally: print(*sys.modules)"
    environment = os.environ | {"QIRSH_DATA_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False
    )
    loaded = set(ended.stdout.split())
    assert "qirsh.cli.main" in loaded
    assert not loaded & {"qirsh.service", "qirsh.cli.commands", "apsw", "asyncpg", "uvicorn", "jinja2", "cryptography"}
