"""The Caddyfile, checked by Caddy, and Caddy in front of a service of ours, with TLS."""

import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.cli.program import House, Running
from tests.deploy import http3
from tests.deploy.caddy import CADDY, CADDYFILE, OUTSIDE, Caddy, caddy
from tests.live import free_port
from tests.waiting import wait_until

INSIDE: Final = "127.0.0.5"  # Where operators are.
TOKEN: Final = "metrics-token-of-the-caddy-tests-1"

pytestmark = pytest.mark.skipif(
    not Path(CADDY).exists(), reason="NOT TESTED: the Caddyfile, since Debian's caddy is not installed"
)


class Guarded(NamedTuple):
    """A service, and Caddy in front of it."""

    service: Running
    front: Caddy


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    port, upstream = free_port(), free_port()
    house = House(folder / "data")
    settings: dict[str, Any] = {
        "QIRSH_PORT": str(upstream),
        "QIRSH_BASE_URL": f"https://localhost:{port}",
        "QIRSH_TRUSTED_PROXIES": "127.0.0.1",
        "QIRSH_OPERATOR_NETWORKS": INSIDE,
        "QIRSH_METRICS_TOKEN": TOKEN,
    }
    with (
        house.serving("serve", until="Qirsh is listening", **settings) as service,
        caddy(folder, f"127.0.0.1:{upstream}", port) as front,
    ):
        service.url = f"http://127.0.0.1:{upstream}"
        yield Guarded(service, front)


def test_caddy_takes_the_file_and_would_write_it_in_the_same_way(tmp_path: Path) -> None:
    environment = {"DOMAIN": "pay.example.org", "HOME": str(tmp_path)}
    words = [CADDY, "validate", "--adapter", "caddyfile", "--config", str(CADDYFILE)]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    copy = Path(shutil.copy(CADDYFILE, tmp_path))
    subprocess.run([CADDY, "fmt", "--overwrite", copy], check=True, capture_output=True)
    assert copy.read_text() == CADDYFILE.read_text()


def test_the_service_is_reached_by_http_2_and_3(guarded: Guarded) -> None:
    answer = guarded.front.ask("/readyz", "--http2")
    assert (answer.status, answer.version, answer.body) == (200, "2", '{"status":"ready","causes":[]}')
    assert f'alt-svc: h3=":{guarded.front.port}"' in answer.headers
    assert guarded.front.ask("/", "--http1.1").version == "1.1"
    assert http3.get(guarded.front.port, "/readyz", guarded.front.authority) == (200, answer.body)


def test_the_clients_own_address_arrives_and_no_other_that_it_claims(guarded: Guarded) -> None:
    ask = guarded.front.ask
    assert ask("/operator", client=INSIDE).status == 303
    assert ask("/operator", client=OUTSIDE).status == 404
    for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
        value = f"for={INSIDE}" if name == "Forwarded" else INSIDE
        assert ask("/operator", "-H", f"{name}: {value}", client=OUTSIDE).status == 404, name
    assert ask("/operator", "-H", f"X-Forwarded-For: {OUTSIDE}", client=INSIDE).status == 303


def test_metrics_are_not_passed_on_whatever_is_sent(guarded: Guarded, subtests: pytest.Subtests) -> None:
    token = ("-H", f"Authorization: Bearer {TOKEN}")
    own = subprocess.run(["curl", "-sS", *token, f"{guarded.service.url}/metrics"], capture_output=True, check=True)
    assert b"# HELP qirsh_" in own.stdout
    for path in ("/metrics", "/metrics/", "//metrics", "/METRICS", "/a/../metrics", "/%6detrics"):
        with subtests.test(path):
            answer = guarded.front.ask(path, "--path-as-is", *token)
            # The service's own answers have a body, whatever they are: this one is Caddy's.
            assert (answer.status, answer.body) == (404, "")
            assert "server: caddy" in answer.headers


def test_a_service_that_was_stopped_is_a_502_or_503_and_one_that_is_back_is_served(guarded: Guarded) -> None:
    folder = guarded.front.folder
    house = House(folder / "other")
    upstream, port = free_port(), free_port()
    (folder / "second").mkdir()
    own: dict[str, Any] = {"QIRSH_PORT": str(upstream), "QIRSH_BASE_URL": f"https://localhost:{port}"}

    def wait_for(*wanted: int) -> None:
        wait_until(lambda: front.ask("/healthz").status in wanted)

    with caddy(folder / "second", f"127.0.0.1:{upstream}", port) as front:
        wait_for(502, 503)
        for _ in range(2):
            with house.serving("serve", until="Qirsh is listening", **own) as service:
                wait_for(200)
                assert service.stop() == 0
                wait_for(502, 503)


class _Unready(http.server.BaseHTTPRequestHandler):
    """A service in trouble: not ready, and it says so to everybody by itself."""

    probes = 0

    def do_GET(self) -> None:
        if self.path == "/readyz":
            _Unready.probes += 1
        self._answer(503 if self.path == "/readyz" else 200, b"read")

    def do_POST(self) -> None:
        self._answer(503, b"refused " + self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_when_none_is_ready_the_service_answers_for_itself(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Unready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with caddy(tmp_path, f"127.0.0.1:{server.server_port}", free_port()) as front:
            wait_until(lambda: _Unready.probes > 1)  # Caddy has heard the first answer by then.
            assert front.ask("/wallet")[0::3] == (200, "read")
            assert front.ask("/pay", "-d", "pin=1")[0::3] == (503, "refused pin=1")
        server.shutdown()
