"""A developer's program that takes webhooks, on this machine, and a check of signatures by hand."""

import base64
import hashlib
import hmac
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from standardwebhooks import Webhook


class Arrived(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]  # Names in small letters.
    body: bytes


class Receiver:
    """Answers with `status` and keeps what came."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hooks?shop=1"
        self.status = 204
        self.location = ""
        self._arrived: queue.Queue[Arrived] = queue.Queue()

    def take(self, arrived: Arrived) -> None:
        self._arrived.put(arrived)

    def next(self) -> Arrived:
        """As soon as it is there."""
        return self._arrived.get()

    def is_empty(self) -> bool:
        return self._arrived.empty()


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    class Hooks(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take(Arrived(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(receiver.status)
            if receiver.location:
                self.send_header("location", receiver.location)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Hooks) as server:
        receiver = Receiver(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def verify_signature(arrived: Arrived, secret: str) -> None:
    """By hand, and by the package that is independent of ours."""
    headers = arrived.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + arrived.body
    mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"
    assert Webhook(secret).verify(arrived.body.decode(), headers)["data"]["id"] == headers["webhook-id"]
