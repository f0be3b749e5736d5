"""Every sample of the reference page, pasted in its order into a shell, Python, Node and PHP beside the real demo."""

import http.client
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import msgspec
import pytest

from qirsh.web.openapi.document import document
from qirsh.web.openapi.sample_languages import LANGUAGES
from qirsh.web.openapi.samples import STORY, Step, Variable
from qirsh.web.routes import ROUTES
from tests.cli.program import House
from tests.description import BASE_URL

BIN: Final = Path(sys.executable).parent
# What runs a file of each. A shell goes on after a failure unless it is told not to; the others do not.
PROGRAMS: Final = {
    "curl": ("bash", "-euo", "pipefail"),
    "python": (sys.executable, "-I"),
    "node": (str(BIN / "node"),),
    "php": ("php", "-d", "display_errors=stderr"),
}
ENDINGS: Final = {"curl": "sh", "python": "py", "node": "mjs", "php": "php"}
DOCUMENT: Final = document(ROUTES, BASE_URL)
_PATIENCE_S: Final = 120


class Exchange(NamedTuple):
    """What was asked and answered."""

    method: str
    path: str
    status: int
    key: str | None
    body: bytes


class Recorder(BaseHTTPRequestHandler):
    """Passes each request on to the demo, and writes it down with its answer."""

    demo = ""
    heard: Final[list[Exchange]] = []

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        line = http.client.HTTPConnection(self.demo, timeout=_PATIENCE_S)
        kept = {name: value for name, value in self.headers.items() if name.lower() not in {"host", "connection"}}
        line.request(self.command, self.path, body, kept)
        answer = line.getresponse()
        told = answer.read()
        line.close()
        self.heard.append(Exchange(self.command, self.path, answer.status, self.headers["idempotency-key"], body))
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def do_GET(self) -> None:
        self.pass_on()

    def do_POST(self) -> None:
        self.pass_on()

    def do_PATCH(self) -> None:
        self.pass_on()

    def do_DELETE(self) -> None:
        self.pass_on()

    def log_message(self, *_: object) -> None:
        """The test tells enough."""


class Samples(HTMLParser):
    """What a reader copies from the page: in each language the preamble, then a sample for each call."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self.calls: dict[str, list[str]] = {}  # By the id of the call that they stand in.
        self._language = self._call = ""
        self._is_code = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "article":
            self._call = values.get("id") or ""
        self._language = values.get("data-language") or self._language
        self._is_code = tag == "code" and self._language != ""
        if self._is_code:
            self.found.setdefault(self._language, []).append("")
            self.calls.setdefault(self._call, []).append(self._language)

    def handle_data(self, data: str) -> None:
        if self._is_code:
            self.found[self._language][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "code" and self._is_code:
            self._is_code, self._language = False, ""


class Demo(NamedTuple):
    """A demo that runs, with somebody who listens in between."""

    samples: Samples
    base_url: str
    recorder_url: str
    variables: dict[str, str]
    page: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    house = House(tmp_path_factory.mktemp("samples") / "d")
    with house.serving("demo", until="# 4.") as running:
        with urlopen(f"{running.url}/docs") as answer:  # noqa: S310 - our own
            page = answer.read().decode()
        told = house.run("status", "--env").stdout
        variables = dict(word.split("=", 1) for word in shlex.split(told))
        Recorder.demo = urlsplit(running.url).netloc
        with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield Demo(Samples(page), running.url, f"http://127.0.0.1:{server.server_port}", variables, page)
            server.shutdown()


def pasted(demo: Demo, language: str, folder: Path) -> list[Exchange]:
    """What the demo was asked by all samples of this language together. A sample that fails ends it."""
    script = folder / f"samples.{ENDINGS[language]}"
    script.write_text("\n".join(demo.samples.found[language]).replace(demo.base_url, demo.recorder_url))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
    Recorder.heard.clear()
    done = subprocess.run(
        [*PROGRAMS[language], str(script)],
        env=clean | demo.variables,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return list(Recorder.heard)


def test_any_text_can_stand_in_a_sample(demo: Demo, tmp_path: Path) -> None:
    note = """It's "one" `two` $HOME ${three} {four} %s \\ \\n
قهوة"""
    body = {"amount": 1, "currency": "USD", "note": note}
    [[creating]] = [steps for call, steps in STORY.items() if call == "remotePaymentsCreate"]
    for language in LANGUAGES:
        odd = demo._replace(samples=Samples(""))
        sample = language.sample((msgspec.structs.replace(creating, body=body),))
        odd.samples.found[language.id] = [language.preamble(demo.base_url), sample]
        [exchange] = pasted(odd, language.id, tmp_path)
        assert json.loads(exchange.body) == body, language.id


def address(step: Step) -> str:
    """A pattern of where the step leads."""
    pieces = [r"[\w-]+" if isinstance(piece, Variable) else re.escape(piece) for piece in step.path]
    return "/api/v1" + "".join(pieces)


@pytest.mark.parametrize("language", PROGRAMS)
def test_all_samples_of_a_language_work_in_their_order(demo: Demo, language: str, tmp_path: Path) -> None:
    heard = pasted(demo, language, tmp_path)
    steps = [step for steps in STORY.values() for step in steps]
    assert [(e.method, e.status) for e in heard] == [(step.method, step.status) for step in steps]
    for exchange, step in zip(heard, steps, strict=True):
        assert re.fullmatch(address(step), exchange.path)
    keys = [exchange.key for exchange in heard if exchange.key is not None]
    assert len(keys) == sum(step.has_idempotency_key for step in steps)
    assert len(set(keys)) == len(keys)


@pytest.mark.slow
def test_a_sample_that_fails_is_noticed(demo: Demo, tmp_path: Path) -> None:
    for language in PROGRAMS:
        asked = [text.replace("10098", "-1") for text in demo.samples.found[language]]
        broken = demo._replace(samples=Samples(""))
        broken.samples.found[language] = asked
        with pytest.raises(AssertionError, match="validation_failed"):
            pasted(broken, language, tmp_path)


def test_every_call_has_a_sample_in_every_language_that_ends_in_itself(demo: Demo) -> None:
    operations = {
        operation["operationId"]: (method.upper(), path, int(next(iter(operation["responses"]))))
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    assert set(STORY) == set(operations)
    for call, (method, path, status) in operations.items():
        last = STORY[call][-1]
        assert (last.method, last.status) == (method, status)
        assert re.fullmatch(re.sub(r"{\w+}", "ID", path), "/api/v1" + _named(last)), call
        assert demo.samples.calls[call] == [language.id for language in LANGUAGES]
        assert f"Answer {status}" in demo.page
    shown = [call for call in demo.samples.calls if call in operations]
    assert shown == list(STORY)


def _named(step: Step) -> str:
    return "".join("ID" if isinstance(piece, Variable) else piece for piece in step.path).partition("?")[0]


def test_every_post_but_the_sign_in_and_the_ping_makes_an_idempotency_key_of_its_own() -> None:
    for call, steps in STORY.items():
        for step in steps:
            is_without = step.path == ("/wallet/sessions",) or step.path[-1] == "/ping"
            assert step.has_idempotency_key == (step.method == "POST" and not is_without), call
    makers = {"curl": "$(uuid)", "python": "uuid.uuid4()", "node": "randomUUID()", "php": "bin2hex(random_bytes(16))"}
    for language in LANGUAGES:
        for steps in STORY.values():
            made = language.sample(steps).count(makers[language.id])
            assert made == sum(step.has_idempotency_key for step in steps)
