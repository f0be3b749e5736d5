"""The real program, as a user starts it: a process of its own, a folder of its own, a free port of this machine."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from qirsh.cli.main import qirsh
from tests.forked import Process, Program, start
from tests.quick_passwords import quick_passwords

QIRSH: Final = ("-m", "qirsh")
PASSWORD: Final = "correct horse battery"
AS_MODULE: Final = """
import runpy, sys
sys.argv[0] = "qirsh"
runpy.run_module("qirsh", run_name="__main__", alter_sys=True)
"""


class Running:
    """A program that serves, and what it has printed until it was ready."""

    def __init__(self, process: Process, printed: str) -> None:
        self.process = process
        self.printed = printed
        found = re.search(r"https?://[\w.]+:\d+", printed)
        assert found, printed
        self.url = found.group()

    def get(self, path: str, token: str | None = None) -> Any:  # noqa: ANN401 - JSON is anything
        return self._call(path, None, token)

    def post(self, path: str, body: dict[str, Any], token: str | None = None) -> Any:  # noqa: ANN401 - JSON is anything
        return self._call(path, json.dumps(body).encode(), token)

    def _call(self, path: str, body: bytes | None, token: str | None) -> Any:  # noqa: ANN401 - JSON is anything
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(f"{self.url}{path}", data=body, headers=headers)  # noqa: S310 - our own
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own
            return json.load(answer)

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        self.process.send_signal(signal_number)
        return self.process.wait()


class Ended(NamedTuple):
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


class House:
    """One data directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "qirsh.db"

    def environment(self, **variables: str) -> dict[str, str]:
        """Ours, without whatever the tester's shell has."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
        return clean | {"QIRSH_DATA_DIR": str(self.folder), "QIRSH_PORT": "0", "QIRSH_RATE_LIMITS": "off"} | variables

    def run(self, *words: str, stdin: str = "", **variables: str) -> Ended:
        """In a process of its own."""
        with self.started(*words, umask=-1, **variables) as process:
            printed, complained = process.communicate(stdin)
            return Ended(process.wait(), printed, complained)

    def started(self, *words: str, umask: int = -1, first: str = "", **variables: str) -> Program:
        """From its first moment on. `first` is code that its process runs before it is the program."""
        pipe = subprocess.PIPE
        told = self.environment(**variables)
        program = ("-c", f"{first}\n{AS_MODULE}") if first else QIRSH
        return start([*program, *words], env=told, stdin=pipe, stdout=pipe, stderr=pipe, umask=umask)

    def started_afresh(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """The same as a shell does it, with a new interpreter: that costs two seconds of a core."""
        pipe = subprocess.PIPE
        told = self.environment(**variables)
        return subprocess.Popen(
            [sys.executable, *QIRSH, *words], env=told, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def invoke(self, *words: str, stdin: str = "", **variables: str) -> Ended:
        """In this process, which is much faster."""
        environment: dict[str, str | None] = dict.fromkeys(os.environ)
        with quick_passwords():
            result = CliRunner().invoke(qirsh, words, input=stdin, env=environment | self.environment(**variables))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return Ended(result.exit_code, result.stdout, result.stderr)

    def act(self, *words: str, stdin: str = "", **variables: str) -> dict[str, Any]:
        """What an act that must be done answers."""
        done = self.invoke(*words, "--json", stdin=stdin, **variables)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)["done"]
        return answer

    def proposed(self, **variables: str) -> list[dict[str, Any]]:
        """The proposals that wait, beside the demo's own deposit."""
        items: list[dict[str, Any]] = self.act("proposal", "list", **variables)["items"]
        return [item for item in items if item["reference" if "reference" in item else "id"] != "demo-waiting-USD"]

    @contextmanager
    def serving(
        self, *words: str, until: str, umask: int = -1, is_afresh: bool = False, first: str = "", **variables: str
    ) -> Iterator[Running]:
        """The program from the moment it has printed `until`; it is gone afterwards."""
        process: Process
        if is_afresh:
            process = self.started_afresh(*words, **variables)
        else:
            process = self.started(*words, umask=umask, first=first, **variables)
        with process:
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                printed = ""
                for line in process.stdout:
                    printed += line
                    if until in printed:
                        break
                else:
                    raise AssertionError(process.stderr.read())
                yield Running(process, printed)
            finally:
                process.kill()

    def demo(self) -> dict[str, Any]:
        """The demo's own file."""
        loaded: dict[str, Any] = json.loads((self.folder / "demo.json").read_bytes())
        return loaded

    def operator(self, who: str = "operator") -> dict[str, str]:
        """The variables with which one of the demo's operators proves themselves."""
        return proof(self.demo()[who])


def proof(operator: dict[str, str]) -> dict[str, str]:
    return {
        "QIRSH_OPERATOR_EMAIL": operator["email"],
        "QIRSH_OPERATOR_PASSWORD": operator["password"],
        "QIRSH_OPERATOR_TOTP_SECRET": operator["totpSecret"],
    }
