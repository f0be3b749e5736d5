"""What is the same for everybody: sent compressed, and once."""

import gzip

import pytest

from qirsh.web.html.static_files import address
from tests.live import Call, Live

PATHS = ("/docs", "/openapi.json", address("qirsh.css"))


@pytest.mark.parametrize("path", PATHS)
def test_it_is_compressed_for_who_takes_that_and_the_same_in_both_forms(world: Live, path: str) -> None:
    plain = world.send(Call("GET", path).with_header("accept-encoding", "identity"))
    assert "content-encoding" not in plain.headers
    packed = world.send(Call("GET", path).with_header("accept-encoding", "br, gzip;q=0.5"))
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content in {plain.content, gzip.compress(plain.content, mtime=0)}
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    for answer in (plain, packed):
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["etag"] == plain.headers["etag"]
        assert answer.headers["cache-control"] != "no-store"


@pytest.mark.parametrize("accepted", ["", "gzip;q=0", "deflate, br", "gzipped"])
def test_who_does_not_take_it_compressed_gets_it_plain(world: Live, accepted: str) -> None:
    assert "content-encoding" not in world.send(Call("GET", "/docs").with_header("accept-encoding", accepted)).headers


@pytest.mark.parametrize("path", PATHS)
def test_who_has_it_is_told_so_and_sent_nothing(world: Live, path: str) -> None:
    tag = world.send(Call("GET", path)).headers["etag"]
    for known in (tag, f'"other", {tag}', "*"):
        answer = world.send(Call("GET", path).with_header("if-none-match", known))
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
    assert world.send(Call("GET", path).with_header("if-none-match", '"other"')).status_code == 200


def test_a_font_is_not_compressed_again(world: Live) -> None:
    answer = world.send(Call("GET", address("noto-sans-arabic-5.3.0-400.woff2")).with_header("accept-encoding", "gzip"))
    assert "content-encoding" not in answer.headers
