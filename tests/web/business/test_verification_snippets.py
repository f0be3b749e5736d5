"""The code that owners copy does what it says: each receiver takes what we sign, and nothing else."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import httpx2
import pytest

from qirsh.outbound.signature import SigningKey, make_secret, signed_headers
from qirsh.web.business.verification_snippets import as_curl, snippets
from tests.live import wait_until

URL: Final = "https://shop.example/hooks?a[]=1&it's=2"
SECRET: Final = make_secret(os.urandom)
BODY: Final = '{"data":{"note":"it\'s قهوة \\" $HOME `x` \\\\n"}}'.encode()
CODE: Final = {snippet.id: snippet.code for snippet in snippets(URL)}
ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": SECRET}

Verify = Callable[[dict[str, str], bytes], bool]


def asked(command: list[str], headers: dict[str, str], body: bytes) -> bool:
    """What a program says of a request, which it gets as JSON."""
    told = json.dumps({"headers": headers, "body": body.decode()})
    done = subprocess.run(command, input=told.encode(), env=ENVIRONMENT, capture_output=True, check=True, timeout=30)
    return {"yes": True, "no": False}[done.stdout.decode().strip()]


@pytest.fixture
def python(tmp_path: Path) -> Verify:
    ending = """
import json, sys
told = json.load(sys.stdin)
print("yes" if is_genuine(told["headers"], told["body"].encode()) else "no")
"""
    (tmp_path / "receive.py").write_text(CODE["python"] + ending)
    return lambda headers, body: asked([sys.executable, str(tmp_path / "receive.py")], headers, body)


@pytest.fixture
def node(tmp_path: Path) -> Verify:
    ending = """
import { readFileSync } from "node:fs";
const told = JSON.parse(readFileSync(0));
console.log(isGenuine(told.headers, Buffer.from(told.body)) ? "yes" : "no");
"""
    (tmp_path / "receive.mjs").write_text(CODE["node"] + ending)
    return lambda headers, body: asked(["node", str(tmp_path / "receive.mjs")], headers, body)


@pytest.fixture
def php(tmp_path: Path) -> Iterator[Verify]:
    (tmp_path / "receive.php").write_text(CODE["php"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["php", "-S", f"127.0.0.1:{port}", str(tmp_path / "receive.php")]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=quiet, stderr=quiet) as server:

        def is_up() -> bool:
            with socket.socket() as line:
                return line.connect_ex(("127.0.0.1", port)) == 0

        def verify(headers: dict[str, str], body: bytes) -> bool:
            answer = httpx2.post(f"http://127.0.0.1:{port}/", headers=headers, content=body, trust_env=False)
            return {204: True, 400: False}[answer.status_code]

        try:
            wait_until(is_up, 20)
            yield verify
        finally:
            server.terminate()


@pytest.mark.parametrize("language", ["python", "node", "php"])
def test_a_receiver_takes_what_we_sign_and_nothing_else(language: str, request: pytest.FixtureRequest) -> None:
    verify: Verify = request.getfixturevalue(language)
    key, other = SigningKey(SECRET), SigningKey(make_secret(os.urandom))
    now = int(time.time())
    good = signed_headers("evt_1", now, BODY, [key])
    assert verify(good, BODY)
    assert verify(signed_headers("evt_1", now, BODY, [other, key]), BODY)  # While two secrets sign.
    assert not verify(good, BODY + b" ")
    assert not verify({**good, "webhook-id": "evt_2"}, BODY)
    assert not verify(signed_headers("evt_1", now, BODY, [other]), BODY)
    assert not verify(signed_headers("evt_1", now - 3600, BODY, [key]), BODY)
    assert not verify({**good, "webhook-timestamp": "x"}, BODY)
    assert not verify({**good, "webhook-signature": ""}, BODY)
    for missing in ("webhook-id", "webhook-timestamp", "webhook-signature"):  # It must not end the program either.
        assert not verify({name: value for name, value in good.items() if name != missing}, BODY)


def test_every_snippet_names_the_endpoint_s_own_address() -> None:
    assert {name for name, code in CODE.items() if URL in code} == {"python", "php", "node", "ruby"}
    assert shlex.quote(URL) in CODE["curl"]
    assert all(shutil.which(tool) for tool in ("node", "php", "curl", "openssl"))


class Heard(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    requests: Final[list[tuple[str, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The test tells enough."""


def heard(command: Callable[[str], str]) -> tuple[str, dict[str, str], bytes]:
    """What a command of sh sends, made for the address of a receiver."""
    with HTTPServer(("127.0.0.1", 0), Heard) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        text = command(f"http://127.0.0.1:{server.server_port}/hooks?a[]=1&it's=2")
        subprocess.run(["sh", "-c", text], env=ENVIRONMENT, capture_output=True, check=True, timeout=30)
        thread.join()
    return Heard.requests[-1]


def test_the_command_to_try_a_receiver_with_signs_as_we_do(python: Verify) -> None:
    path, headers, body = heard(lambda url: {one.id: one.code for one in snippets(url)}["curl"])
    assert path == "/hooks?a[]=1&it's=2"
    assert python(headers, body)
    assert json.loads(body)["data"]["type"] == "test"


def test_a_delivery_as_curl_sends_the_very_bytes(python: Verify) -> None:
    signed = signed_headers("evt_1", int(time.time()), BODY, [SigningKey(SECRET)])
    path, headers, body = heard(lambda url: as_curl(url, signed, BODY))
    assert (path, body) == ("/hooks?a[]=1&it's=2", BODY)
    assert signed.items() <= headers.items()
    assert python(headers, body)
    assert as_curl(URL, signed, b"@/etc/passwd").endswith("--data-raw @/etc/passwd")
