"""What the pods on PostgreSQL do, in their order and with their own words, settings and secrets, without a cluster."""

import http.client
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.deploy.kubernetes.manifests import FOLDER, Body, Manifest, Pod, of_set, pods
from tests.deploy.kubernetes.pod_settings import environment
from tests.postgres import PostgresServer, installations, own_folder, server
from tests.waiting import wait_until

_PATIENCE_S: Final = 120
_INSIDE: Final = ("/run/secrets", "/data", "/backups", "/grants")
_POD: Final = "10.244.1.7:8420"  # What a probe names as the host: the pod's own address.
_SITE: Final = "pay.example.org"


class Stage(NamedTuple):
    """Folders in the place of volumes, and a PostgreSQL that encrypts."""

    among: list[Manifest]
    folder: Path
    postgres: PostgresServer

    def pod(self, name: str) -> Pod:
        """By the name of what makes it."""
        [pod] = [pod for pod in pods(self.among) if pod.owner.name == name]
        return pod

    def mapped(self, text: str) -> str:
        """With the folders of this test for those of a pod."""
        for inside in _INSIDE:
            text = text.replace(f"{inside}/", f"{self.folder}{inside}/") if text != inside else f"{self.folder}{inside}"
        return text

    def variables(self, container: Body, **more: str) -> dict[str, str]:
        """What the container is started with, and of ours nothing but the way to programs."""
        given = {name: self.mapped(value) for name, value in environment(self.among, container).items()}
        return {"PATH": f"{self.postgres.binaries}:{os.environ['PATH']}", **given, **more}

    def run(self, container: Body, *words: str, stdin: str = "", code: int = 0) -> str:
        """To its end: what it is made for, or other words of Qirsh as by `kubectl exec`."""
        own = container.get("command") or [sys.executable, "-m", "qirsh", *container["args"]]
        done = subprocess.run(
            [sys.executable, "-m", "qirsh", *words] if words else [self.mapped(word) for word in own],
            env=self.variables(container),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def run_pod(self, name: str) -> None:
        """All of its containers, those first that run first."""
        for container in self.pod(name).containers:
            self.run(container)

    @contextmanager
    def serving(self) -> Iterator[tuple[Body, int]]:
        """The container of a server that has started, and its port, until it is told to stop and ends well."""
        [container] = self.pod("qirsh").containers
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        own = self.variables(container, QIRSH_HOST="127.0.0.1", QIRSH_PORT=str(port))
        with subprocess.Popen([sys.executable, "-m", "qirsh", *container["args"]], env=own) as process:
            try:
                path = container["startupProbe"]["httpGet"]["path"]

                def has_started() -> bool:
                    assert process.poll() is None, "the server has ended"
                    return status(port, path) == 200

                wait_until(has_started)
                yield container, port
            finally:
                process.terminate()
            assert process.wait(_PATIENCE_S) == 0


def status(port: int, path: str, host: str = _POD) -> int:
    """Of the answer; 0 if there is none."""
    line = http.client.HTTPConnection("127.0.0.1", port)
    try:
        line.request("GET", path, headers={"Host": host})
        return line.getresponse().status
    except OSError:
        return 0
    finally:
        line.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A cluster that has the Secrets, the role that serves and an empty database of the owner's."""
    debian = [name for name in installations() if name.startswith("debian")]
    if not debian:
        pytest.skip(
            "NOT TESTED: the steps of the pods, since they need a PostgreSQL with TLS: apt-get install postgresql"
        )
    with own_folder("qirsh-tls-") as made:
        key, certificate = made / "server.key", made / "server.crt"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
                *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
                *("-keyout", key, "-out", certificate),
            ],
            capture_output=True,
            check=True,
        )
        owner = made.stat()
        os.chown(key, owner.st_uid, owner.st_gid)
        os.chown(certificate, owner.st_uid, owner.st_gid)
        with server(debian[-1], ssl="on", ssl_cert_file=str(certificate), ssl_key_file=str(key)) as postgres:
            postgres.sql("CREATE ROLE qirsh_owner LOGIN PASSWORD '1f2e'; CREATE ROLE qirsh LOGIN PASSWORD '3d4c'")
            made_stage = Stage(of_set("postgres"), tmp_path, postgres)
            create_database(postgres)
            place = f"localhost:{postgres.port}/qirsh?sslmode=verify-full"
            for name, text in {
                "run/secrets/qirsh/secret-key": "0123456789abcdef0123456789abcdef",
                "run/secrets/qirsh/metrics-token": "fedcba9876543210fedcba9876543210",
                "run/secrets/qirsh/smtp-url": "smtp://localhost:9",
                "run/secrets/qirsh/database-url": f"postgresql://qirsh:3d4c@{place}",
                "run/secrets/qirsh-db-app/uri": f"postgresql://qirsh_owner:1f2e@{place}",
                "run/secrets/qirsh-db-ca/ca.crt": certificate.read_text(),
                "grants/grants.sql": (FOLDER / "postgres-migrate" / "grants.sql").read_text(),
            }.items():
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_text(text)
            (tmp_path / "backups").mkdir()
            yield made_stage


def create_database(postgres: PostgresServer) -> None:
    postgres.sql("CREATE DATABASE qirsh OWNER qirsh_owner ENCODING 'UTF8' TEMPLATE template0")


@pytest.mark.slow
def test_the_pods_migrate_serve_back_up_and_restore(stage: Stage) -> None:
    stage.run_pod("qirsh-migrate")
    stage.run_pod("qirsh-migrate")  # As before the next upgrade.
    with stage.serving() as (container, port):
        assert status(port, container["livenessProbe"]["httpGet"]["path"]) == 200
        assert status(port, container["readinessProbe"]["httpGet"]["path"]) == 200
        first = ("operator", "create", "--email", "a@example.org", "--name", "A", "--password-stdin")
        stage.run(container, *first, stdin="correct horse battery\n")
        told = stage.run(container, "doctor", code=1)  # Of operators there must be more.
        assert "the role qirsh does not own the tables" in told
        lines = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'qirsh'"
        assert stage.postgres.sql(lines) == "t"
    shutil.rmtree(stage.folder / "data")  # As when a pod is gone.

    (stage.folder / "run/secrets/qirsh/secret-key").rename(stage.folder / "secret-key")
    stage.run_pod("qirsh-backup")
    (stage.folder / "secret-key").rename(stage.folder / "run/secrets/qirsh/secret-key")
    [backup] = (stage.folder / "backups").glob("*.jsonl.gz")
    backup.rename(backup.with_name("CHANGE-ME.jsonl.gz"))

    stage.postgres.sql("ALTER DATABASE qirsh RENAME TO qirsh_before")
    create_database(stage.postgres)
    stage.run_pod("qirsh-restore")
    stage.run_pod("qirsh-migrate")
    with stage.serving() as (container, port):
        # Money stands still: nobody is sent there but operators, and nobody starts it again.
        assert status(port, container["readinessProbe"]["httpGet"]["path"]) == 503
        assert status(port, container["livenessProbe"]["httpGet"]["path"]) == 200
        assert status(port, "/operator/sign-in", _SITE) == 200
        stage.run(container, "verify")
