"""Caddy with our Caddyfile and its own authority, on free ports, and clients of it."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.deploy.containerfile import REPOSITORY
from tests.live import TIED, free_port
from tests.waiting import wait_until

CADDYFILE: Final = REPOSITORY / "deploy" / "compose" / "Caddyfile"
CADDY: Final = "/usr/bin/caddy"
OUTSIDE: Final = "127.0.0.6"  # Where clients are.


class Answer(NamedTuple):
    """What curl was told."""

    status: int
    version: str
    headers: str
    body: str


class Caddy:
    """One that runs, and clients of it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    @property
    def authority(self) -> Path:
        """The certificate that its own one is signed by."""
        return self.folder / "caddy/pki/authorities/local/root.crt"

    def ask(self, path: str, *options: str, client: str = OUTSIDE) -> Answer:
        """By curl; status 0 if nobody answers."""
        told = subprocess.run(
            [
                *(
                    "curl",
                    "-sS",
                    "--cacert",
                    str(self.authority),
                    "--interface",
                    client,
                    "-D",
                    str(self.folder / "headers"),
                ),
                *("-o", str(self.folder / "body"), "-w", "%{http_code} %{http_version}", *options),
                f"https://localhost:{self.port}{path}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode != 0:
            return Answer(0, "", told.stderr, "")
        status, version = told.stdout.split()
        headers, body = ((self.folder / name).read_text() for name in ("headers", "body"))
        return Answer(int(status), version, headers.lower(), body)


@contextlib.contextmanager
def caddy(folder: Path, upstream: str, port: int) -> Iterator[Caddy]:
    """With our file and its own authority, on free ports."""
    own = f"{{\n\tadmin off\n\tskip_install_trust\n\thttp_port {free_port()}\n\thttps_port {port}\n"
    config = folder / "Caddyfile"
    config.write_text(CADDYFILE.read_text().replace("{\n", own, 1))
    environment = {"DOMAIN": "localhost", "UPSTREAM": upstream, "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    words = [*TIED[:-1], CADDY, "run", "--config", str(config)]
    with (folder / "log").open("w") as log, subprocess.Popen(words, env=environment, stderr=log, stdout=log) as process:
        try:
            running = Caddy(folder, port)

            def answers() -> bool:
                assert process.poll() is None, (folder / "log").read_text()
                return running.ask("/healthz").status != 0

            wait_until(answers)
            yield running
        finally:
            process.terminate()
