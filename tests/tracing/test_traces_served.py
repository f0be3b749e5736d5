"""`QIRSH_TRACES`, by the real program: to a receiver of OTLP, without the extra, and not at all."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

import qirsh
from tests.cli.program import House
from tests.live import free_port

READY = "There is no operator yet"
CREATE = "/api/v1/remote-payments"
MISSING = """raise ModuleNotFoundError("No module named 'opentelemetry'", name="opentelemetry")\n"""


# Run before the program.
AT_THE_END = """
import atexit, os, pathlib, sys
atexit.register(lambda: pathlib.Path(os.environ["LIST"]).write_text("\\n".join(sys.modules)))
"""


class Receiver(BaseHTTPRequestHandler):
    """Takes spans by OTLP over HTTP."""

    taken: list[tuple[str, ExportTraceServiceRequest]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.taken.append((self.path, ExportTraceServiceRequest.FromString(body)))
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


@contextlib.contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[str, ExportTraceServiceRequest]]]]:
    taken: list[tuple[str, ExportTraceServiceRequest]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Receiver,), {"taken": taken})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", taken
        finally:
            server.shutdown()
            thread.join()


def served(folder: Path, **variables: str) -> set[str]:
    """What `qirsh serve` has imported when it ends, after some requests."""
    house = House(folder / "data")
    told = {"LIST": str(folder / "modules"), **variables}
    with house.serving("serve", until=READY, umask=-1, is_afresh=False, first=AT_THE_END, **told) as running:
        address = urlsplit(running.url)
        with contextlib.closing(HTTPConnection(address.hostname or "", address.port, timeout=60)) as line:
            for method, path, status in (("GET", "/readyz", 200), ("GET", "/sign-in", 200), ("POST", CREATE, 401)):
                line.request(method, path, headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
                answer = line.getresponse()
                answer.read()
                assert answer.status == status
        assert running.stop() == 0
    return set((folder / "modules").read_text().splitlines())


def test_without_the_setting_opentelemetry_is_not_even_imported(tmp_path: Path) -> None:
    # These alone switch nothing on.
    standard = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    found = served(tmp_path, **standard)
    assert {"qirsh.service", "qirsh.tracing.spans", "qirsh.web.server.router"} <= found
    assert [name for name in found if name.startswith(("opentelemetry", "google", "qirsh.tracing.otlp"))] == []


def test_spans_reach_a_receiver_of_otlp_at_the_latest_when_the_service_ends(tmp_path: Path) -> None:
    with receiver() as (address, taken):
        found = served(tmp_path, QIRSH_TRACES="otlp", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert {"qirsh.tracing.otlp", "opentelemetry.sdk.trace"} <= found
    assert {path for path, _ in taken} == {"/v1/traces"}
    resources = [resource for _, request in taken for resource in request.resource_spans]
    for resource in resources:
        told = {one.key: one.value.string_value for one in resource.resource.attributes}
        assert (told["service.name"], told["service.version"]) == ("qirsh", qirsh.__version__)
    spans = {span.name: span for resource in resources for scope in resource.scope_spans for span in scope.spans}
    assert {"batch", "GET /readyz", "GET /sign-in", "POST /api/v1/remote-payments"} <= set(spans)
    refused = spans["POST /api/v1/remote-payments"]
    assert {one.key: one.value.string_value or one.value.int_value for one in refused.attributes} == {
        "http.request.method": "POST",
        "http.route": "/api/v1/remote-payments",
        "http.response.status_code": 401,
        "error.type": "unauthorized",
    }
    assert refused.parent_span_id == b""
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in refused.links] == [("a" * 32, "b" * 16)]
    assert spans["batch"].end_time_unix_nano >= spans["batch"].start_time_unix_nano > 0


@pytest.mark.slow
def test_a_receiver_that_is_away_changes_no_answer_and_the_service_ends_well(tmp_path: Path) -> None:
    found = served(tmp_path, QIRSH_TRACES="otlp", OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}")
    assert "qirsh.tracing.otlp" in found


@pytest.mark.slow  # The refusal itself is tested beside the bounds.
def test_without_the_extra_the_start_is_refused_with_what_to_install(tmp_path: Path) -> None:
    package = tmp_path / "path" / "opentelemetry"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MISSING)
    house = House(tmp_path / "data")
    variables = {"QIRSH_TRACES": "otlp", "PYTHONPATH": str(package.parent)}
    with house.started_afresh("serve", **variables) as process:
        printed, complained = process.communicate(timeout=60)
    assert process.returncode == 2
    assert printed == ""
    assert complained == (
        "qirsh: QIRSH_TRACES: otlp needs packages that are not installed (No module named 'opentelemetry'):"
        " pip install 'qirsh[otel]'\n"
    )
    assert not house.folder.exists(), "nothing was begun"
