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
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import httpx2
import pytest

from qirsh.outbound.signature import SigningKey, make_secret, signed_headers
from qirsh.web.business.verification_snippets import as_curl, snippets
from tests.waiting import wait_until

URL: Final = "https://shop.example/hooks?a[]=1&it's=2"
SECRET: Final = make_secret(os.urandom)
BODY: Final = '{"data":{"note":"it\'s قهوة \\" $HOME `x` \\\\n"}}'.encode()
CODE: Final = {snippet.id: snippet.code for snippet in snippets(URL)}
ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": SECRET}

NEEDED: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")
Asked = tuple[dict[str, str], bytes]  # Headers and body of a request.
Verify = Callable[[Sequence[Asked]], list[bool]]


def asked(command: list[str], requests: Sequence[Asked]) -> list[bool]:
    """What a program says of each request, which it gets as JSON."""
    told = json.dumps([{"headers": headers, "body": body.decode()} for headers, body in requests])
    done = subprocess.run(command, input=told.encode(), env=ENVIRONMENT, capture_output=True, check=True)
    return [{"yes": True, "no": False}[word] for word in done.stdout.decode().split()]


@pytest.fixture
def python(tmp_path: Path) -> Verify:
    ending = """
import json, sys
for told in json.load(sys.stdin):
    print("yes" if is_genuine(told["headers"], told["body"].encode()) else "no")
"""
    (tmp_path / "receive.py").write_text(CODE["python"] + ending)
    return lambda requests: asked([sys.executable, str(tmp_path / "receive.py")], requests)


@pytest.fixture
def node(tmp_path: Path) -> Verify:
    ending = """
import { readFileSync } from "node:fs";
for (const told of JSON.parse(readFileSync(0))) {
  console.log(isGenuine(told.headers, Buffer.from(told.body)) ? "yes" : "no");
}
"""
    (tmp_path / "receive.mjs").write_text(CODE["node"] + ending)
    return lambda requests: asked(["node", str(tmp_path / "receive.mjs")], requests)


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

        def verify(requests: Sequence[Asked]) -> list[bool]:
            with httpx2.Client(trust_env=False, timeout=None) as client:
                url = f"http://127.0.0.1:{port}/"
                answers = [client.post(url, headers=headers, content=body) for headers, body in requests]
            return [{204: True, 400: False}[answer.status_code] for answer in answers]

        try:
            wait_until(is_up)
            yield verify
        finally:
            server.terminate()


@pytest.mark.parametrize("language", ["python", "node", "php"])
def test_a_receiver_takes_what_we_sign_and_nothing_else(language: str, request: pytest.FixtureRequest) -> None:
    verify: Verify = request.getfixturevalue(language)
    key, other = SigningKey(SECRET), SigningKey(make_secret(os.urandom))
    now = int(time.time())
    good = signed_headers("evt_1", now, BODY, [key])
    requests = {
        "genuine": (good, BODY),
        "signed with two secrets": (signed_headers("evt_1", now, BODY, [other, key]), BODY),
        "another body": (good, BODY + b" "),
        "another event": ({**good, "webhook-id": "evt_2"}, BODY),
        "another secret": (signed_headers("evt_1", now, BODY, [other]), BODY),
        "old": (signed_headers("evt_1", now - 3600, BODY, [key]), BODY),
        "no time": ({**good, "webhook-timestamp": "x"}, BODY),
        "no signature": ({**good, "webhook-signature": ""}, BODY),
        # It must not end the program either.
        **{f"without {missing}": ({n: v for n, v in good.items() if n != missing}, BODY) for missing in NEEDED},
    }
    said = dict(zip(requests, verify(list(requests.values())), strict=True))
    assert [name for name, is_genuine in said.items() if is_genuine] == ["genuine", "signed with two secrets"]


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
        subprocess.run(["sh", "-c", text], env=ENVIRONMENT, capture_output=True, check=True)
        thread.join()
    return Heard.requests[-1]


def test_the_command_to_try_a_receiver_with_signs_as_we_do(python: Verify) -> None:
    path, headers, body = heard(lambda url: {one.id: one.code for one in snippets(url)}["curl"])
    assert path == "/hooks?a[]=1&it's=2"
    assert python([(headers, body)]) == [True]
    assert json.loads(body)["data"]["type"] == "test"


def test_a_delivery_as_curl_sends_the_very_bytes(python: Verify) -> None:
    signed = signed_headers("evt_1", int(time.time()), BODY, [SigningKey(SECRET)])
    path, headers, body = heard(lambda url: as_curl(url, signed, BODY))
    assert (path, body) == ("/hooks?a[]=1&it's=2", BODY)
    assert signed.items() <= headers.items()
    assert python([(headers, body)]) == [True]
    assert as_curl(URL, signed, b"@/etc/passwd").endswith("--data-raw @/etc/passwd")
