"""What the containers of deploy/compose do, with their own words, settings and secrets, without a container engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.containerfile import REPOSITORY
from tests.live import TIED
from tests.postgres import PostgresServer
from tests.waiting import wait_until

FOLDER: Final = REPOSITORY / "deploy" / "compose"
# What somebody would write instead of the examples.
OWN: Final = {
    "DOMAIN": "pay.shop.sy",
    "QIRSH_SUPPORT_CONTACT": "help@shop.sy",
    "QIRSH_MAIL_FROM": "Shop <pay@shop.sy>",
}
_PATIENCE_S: Final = 300


def composed(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return loaded


def environment_of(name: str, service: str, dotenv: dict[str, str], secrets: Path) -> dict[str, str]:
    """What a container reads, where the files of the host stand for what is mounted."""
    told = composed(name)["services"][service]
    own = {key: value for key, value in dotenv.items() if key.startswith("QIRSH_")}
    for key, value in told["environment"].items():
        # As Compose does it, with no default but where one is given.
        filled = re.sub(r"\$\{(\w+)(?::\?[^}]*|:-([^}]*))?\}", lambda m: dotenv.get(m[1], m[2] or ""), str(value))
        own[key] = filled.replace("/run/secrets", str(secrets))
        if key.endswith("_FILE"):
            assert Path(value).name in told["secrets"], key
    return own


def make_secrets(folder: Path, smtp_url: str) -> Path:
    """As an operator makes them, with a mail server."""
    shutil.copy(FOLDER / "make-secrets.sh", folder)
    subprocess.run([folder / "make-secrets.sh"], check=True, capture_output=True)
    write_secret(folder / "secrets" / "smtp_url", smtp_url)
    return folder / "secrets"


def write_secret(file: Path, text: str) -> None:
    """Over what is there, which nobody may write to."""
    file.unlink(missing_ok=True)
    file.write_text(f"{text}\n")


def make_database(postgres: PostgresServer, secrets: Path) -> str:
    """As the image of PostgreSQL does it at its first start. Returns the address for the service's role."""
    script = (FOLDER / "postgres-init.sql").read_text().replace("/run/secrets", str(secrets))
    psql = [str(postgres.binaries / "psql"), "-X", "-qAt", "-v", "ON_ERROR_STOP=1", postgres.url()]
    made = subprocess.run(psql, input=script, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")
    return (secrets / "database_url").read_text().strip().replace("@postgres/", f"@127.0.0.1:{postgres.port}/")


class Container:
    """That of one service of a file, on this machine: its volume is a folder."""

    def __init__(self, told: dict[str, str], data: Path) -> None:
        self.told = told | {"QIRSH_DATA_DIR": str(data), "QIRSH_HOST": "127.0.0.1"}
        self.data = data
        self.source = REPOSITORY / "src"  # Of the program: another one is an upgrade.

    def environment(self, **more: str) -> dict[str, str]:
        """And of ours nothing but the way to programs."""
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.source), **self.told, **more}

    def execute(self, *words: str, stdin: str = "", **more: str) -> str:
        """What `docker compose exec` would print."""
        done = subprocess.run(
            [sys.executable, "-m", "qirsh", *words],
            cwd="/",
            env=self.environment(**more),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def act(self, *words: str, stdin: str = "", **by: str) -> dict[str, Any]:
        """An operator's act, and what it answers."""
        done: dict[str, Any] = json.loads(self.execute(*words, "--json", stdin=stdin, **by))["done"]
        return done

    @contextmanager
    def up(self, *, is_ready: bool = True) -> Iterator[None]:
        """From when it is healthy until it is told to stop, and ends well."""
        words = [*TIED, "-m", "qirsh", "serve"]
        with (self.data.parent / f"{self.data.name}.log").open("ab") as log:
            process = subprocess.Popen(words, cwd="/", env=self.environment(), stdout=log, stderr=log)
        check = [sys.executable, "-m", "qirsh", "healthcheck", *(["--ready"] if is_ready else [])]
        try:

            def is_healthy() -> bool:
                assert process.poll() is None, Path(log.name).read_text()
                looked = subprocess.run(check, cwd="/", env=self.environment(), capture_output=True, check=False)
                return looked.returncode == 0

            wait_until(is_healthy)
            yield
        finally:
            process.terminate()
            code = process.wait(_PATIENCE_S)
        assert code == 0
