"""Only requests that are meant for this service are answered."""

import pytest

from qirsh.web.http.host import is_own_host
from tests.live import Call, InProcess, refused

BASE = "https://Pay.example:8443"


@pytest.mark.parametrize(
    ("host", "peer", "base_url", "is_own"),
    [
        (b"pay.example", "192.0.2.1", BASE, True),
        (b"PAY.example:8443", "192.0.2.1", BASE, True),
        (b"pay.example:80", "192.0.2.1", BASE, True),
        (b"evil.example", "192.0.2.1", BASE, False),
        (b"pay.example.evil.example", "192.0.2.1", BASE, False),
        (b"evil.example", "127.0.0.1", BASE, False),
        (b"pay.example@evil.example", "127.0.0.1", BASE, False),
        (b"", "127.0.0.1", BASE, False),
        (b"[", "127.0.0.1", BASE, False),
        (b"\xff", "127.0.0.1", BASE, False),
        (b"127.0.0.1:8420", "127.0.0.1", BASE, True),
        (b"localhost", "::1", BASE, True),
        (b"[::1]:8420", "::1", BASE, True),
        (b"localhost", "192.0.2.1", BASE, False),
        (b"127.0.0.1", "192.0.2.1", BASE, False),
        (b"192.0.2.9:8420", "192.0.2.1", "http://0.0.0.0:8420", True),
        (b"192.0.2.9:8420", "192.0.2.1", "http://[::]:8420", True),
    ],
)
def test_the_host_is_that_of_the_service_or_this_machine(
    host: bytes, peer: str, base_url: str, *, is_own: bool
) -> None:
    assert is_own_host(host, peer, base_url) == is_own


@pytest.mark.parametrize("path", ["/", "/sign-in", "/docs", "/openapi.json", "/api/v1/me", "/nowhere", "/pay/1"])
def test_a_request_for_another_host_is_refused(still: InProcess, path: str) -> None:
    refused(still.send(Call("GET", path).with_header("host", "evil.example")), 400, "bad_request")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_may_name_any_host(still: InProcess, path: str) -> None:
    assert still.send(Call("GET", path).with_header("host", "10.0.0.7")).status_code == 200
