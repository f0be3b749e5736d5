"""A standby of a PostgreSQL server of ours, and hosts that are of no use."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator

from tests.postgres import PostgresServer, installations, own_folder, unprivileged


@contextlib.contextmanager
def standby_of(primary: PostgresServer, address: str = "") -> Iterator[PostgresServer]:
    """A copy that follows, as long as nobody promotes it; by another address than the primary's own, if told."""
    # One that is held, or stopped, for the time of some tests finds there what it has missed.
    primary.sql("ALTER SYSTEM SET wal_keep_size = '2GB'")
    primary.sql("SELECT pg_reload_conf()")
    with own_folder("qirsh-standby-") as folder:
        copy = (primary.binaries / "pg_basebackup", "-D", "data", "-R", "-c", "fast", "--no-sync")
        subprocess.run(
            [*unprivileged(), *copy, "-d", address or primary.url()],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        password = primary.url().split(":")[2].partition("@")[0]
        with PostgresServer(installations()["18"], folder, password=password) as standby:
            yield standby


def several(database: str, *hosts: PostgresServer | str) -> str:
    """The address of a database that all of them have, or would have."""
    [server, *_] = [host for host in hosts if isinstance(host, PostgresServer)]
    user = server.url().partition("@")[0]
    names = [host if isinstance(host, str) else f"127.0.0.1:{host.port}" for host in hosts]
    return f"{user}@{','.join(names)}/{database}"


@contextlib.contextmanager
def silent_host() -> Iterator[str]:
    """The system takes connections for it, and nobody ever says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


REFUSED = "127.0.0.1:1"
