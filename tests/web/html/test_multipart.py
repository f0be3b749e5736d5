"""Forms that carry files: what browsers send is read, and whatever two readers could read differently is refused."""

from collections.abc import Iterator

import pytest

from qirsh.domain.limits import FORM_BYTES_MAX, PART_HEAD_BYTES_MAX
from qirsh.web.html.multipart import File, Sent, read_multipart
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem
from tests.live import InProcess, in_process

BOUNDARY = b"----WebKitFormBoundary7MA4YWxkTrZu0gW"
TYPE = b"multipart/form-data; boundary=" + BOUNDARY
PICTURE = b"\xff\xd8\xff\r\n--\r\n------WebKitFormBoundary\r\n\0\xff\r\n"
TOKEN = b'Content-Disposition: form-data; name="token"\r\n\r\nabc'
FRONT = (
    b'Content-Disposition: form-data; name="front"; filename="card.jpg"\r\nContent-Type: image/jpeg\r\n\r\n' + PICTURE
)


@pytest.fixture(scope="module")
def world() -> Iterator[InProcess]:
    with in_process(shops=0, people=0) as held:
        yield held


def joined(*parts: bytes, boundary: bytes = BOUNDARY) -> bytes:
    return b"".join(b"--%b\r\n%b\r\n" % (boundary, part) for part in parts) + b"--%b--\r\n" % boundary


def read(world: InProcess, body: bytes, content_type: bytes = TYPE, **headers: str) -> Sent:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    request = Request("req_1", "POST", "/x", b"", {b"content-type": content_type, **named}, body)
    return read_multipart(world.context, request, ("token", "name"), ("front", "back"))


def refused(world: InProcess, body: bytes, content_type: bytes = TYPE, **headers: str) -> str:
    with pytest.raises(Problem) as problem:
        read(world, body, content_type, **headers)
    return problem.value.code


def text(name: bytes, value: bytes) -> bytes:
    return b'Content-Disposition: form-data; name="%b"\r\n\r\n%b' % (name, value)


def test_texts_and_files_are_read_as_they_were_sent(world: InProcess) -> None:
    sent = read(world, joined(TOKEN, FRONT))
    assert sent.texts == {"token": "abc", "name": ""}
    assert sent.files == {"front": File("card.jpg", "image/jpeg", PICTURE)}


def test_what_other_clients_of_the_standard_send_is_read_too(world: InProcess) -> None:
    body = joined(TOKEN, text(b"name", "أمل\r\n".encode()), FRONT, boundary=b"a b")
    assert read(world, body, b'Multipart/Form-Data;boundary="a b"').texts["name"] == "أمل\r\n"
    body = joined(TOKEN).removesuffix(b"\r\n")
    assert read(world, body).texts["token"] == "abc"
    plain = b'content-disposition: form-data; name="name"\r\ncontent-type: text/plain; charset=UTF-8\r\n\r\nx'
    assert read(world, joined(plain)).texts["name"] == "x"
    named = FRONT.replace(b"card.jpg", "بطاقة%22.jpg".encode())
    assert read(world, joined(named)).files["front"].name == "بطاقة%22.jpg"


def test_an_input_without_a_choice_sends_no_file(world: InProcess) -> None:
    nothing = (
        b'Content-Disposition: form-data; name="back"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    assert read(world, joined(TOKEN, FRONT, nothing)).files.keys() == {"front"}
    empty = nothing.replace(b'""', b'"empty.jpg"')
    assert read(world, joined(empty)).files["back"] == File("empty.jpg", "application/octet-stream", b"")


WHOLE = joined(TOKEN, FRONT)
BROKEN = {
    "empty": b"",
    "no parts": b"--" + BOUNDARY,
    "preamble": b"x\r\n" + WHOLE,
    "line before": b"\r\n" + WHOLE,
    "epilogue": WHOLE + b"x",
    "second end": WHOLE + WHOLE,
    "no end": WHOLE.removesuffix(b"--\r\n"),
    "no end and a line": WHOLE.removesuffix(b"--\r\n") + b"\r\n",
    "cut": WHOLE[: len(WHOLE) // 2],
    "bare line ends": WHOLE.replace(b"\r\n", b"\n"),
    "padded delimiter": WHOLE.replace(BOUNDARY + b"\r\n", BOUNDARY + b" \r\n", 1),
    "longer delimiter": WHOLE.replace(BOUNDARY + b"\r\n", BOUNDARY + b"x\r\n"),
    "delimiter that runs on": WHOLE.replace(BOUNDARY + b"\r\n", BOUNDARY + b"xx", 1),
    "delimiter inside": joined(text(b"name", b"a\r\n--" + BOUNDARY + b"b")),
    "twice": joined(TOKEN, TOKEN),
    "file twice": joined(FRONT, FRONT),
    "text and file": joined(text(b"front", b"x")),
    "file and text": joined(FRONT.replace(b"front", b"token")),
    "unknown text": joined(text(b"other", b"x")),
    "unknown file": joined(FRONT.replace(b"front", b"other")),
    "name in capitals": joined(text(b"Token", b"x")),
    "no name": joined(b"Content-Disposition: form-data\r\n\r\nx"),
    "no quotes": joined(b"Content-Disposition: form-data; name=token\r\n\r\nx"),
    "two names": joined(b'Content-Disposition: form-data; name="token"; name="name"\r\n\r\nx'),
    "name after file name": joined(b'Content-Disposition: form-data; filename="a"; name="front"\r\n\r\nx'),
    "file name in another way": joined(
        b"Content-Disposition: form-data; name=\"front\"; filename*=UTF-8''a\r\nContent-Type: image/png\r\n\r\nx"
    ),
    "two dispositions": joined(TOKEN.replace(b"\r\n\r\n", b'\r\nContent-Disposition: form-data; name="name"\r\n\r\n')),
    "attachment": joined(TOKEN.replace(b"form-data", b"attachment")),
    "other header": joined(TOKEN.replace(b"\r\n\r\n", b"\r\nX: y\r\n\r\n")),
    "encoding": joined(TOKEN.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n")),
    "folded header": joined(FRONT.replace(b"; filename", b";\r\n filename")),
    "bare return in a header": joined(FRONT.replace(b"card", b"ca\rrd")),
    "nested": joined(FRONT.replace(b"image/jpeg", b"Multipart/mixed; boundary=x")),
    "text of a kind": joined(TOKEN.replace(b"\r\n\r\n", b"\r\nContent-Type: text/html\r\n\r\n")),
    "other charset": joined(TOKEN.replace(b"\r\n\r\n", b"\r\nContent-Type: text/plain; charset=utf-16\r\n\r\n")),
    "no header": joined(b"\r\n\r\nabc"),
    "no blank line": joined(TOKEN.replace(b"\r\n\r\n", b"\r\n")),
    "not UTF-8": joined(text(b"name", b"\xff")),
    "surrogate": joined(text(b"name", b"\xed\xa0\x80")),
    "name not UTF-8": joined(text(b"\xff", b"x")),
    "long head": joined(FRONT.replace(b"card", b"c" * PART_HEAD_BYTES_MAX)),
    "many parts": joined(*[TOKEN] * 1000),
}


def test_what_no_browser_sends_is_refused(world: InProcess, subtests: pytest.Subtests) -> None:
    for name, body in BROKEN.items():
        with subtests.test(name):
            assert refused(world, body) == "validation_failed"


def test_texts_are_bounded_together(world: InProcess) -> None:
    half = FORM_BYTES_MAX // 2
    assert read(world, joined(text(b"token", b"x" * half), text(b"name", b"x" * half)))
    assert refused(world, joined(text(b"token", b"x" * half), text(b"name", b"x" * (half + 1)))) == "body_too_large"


def test_another_kind_of_body_is_refused(world: InProcess, subtests: pytest.Subtests) -> None:
    for content_type in [
        *(b"", b"application/x-www-form-urlencoded", b"multipart/mixed; boundary=a", b"multipart/form-data"),
        *(b"multipart/form-data; boundary=", b'multipart/form-data; boundary=""', b'multipart/form-data; boundary="a '),
        *(b"multipart/form-data; boundary=a; boundary=b", b"multipart/form-data; boundary=" + b"a" * 71),
        *(
            b'multipart/form-data; boundary="a "',
            b"multipart/form-data; boundary=a\r",
            b"multipart/form-data; charset=x",
        ),
        b"multipart/form-data; boundary=" + b" " * 4000,
    ]:
        with subtests.test(content_type=content_type):
            assert refused(world, joined(TOKEN, boundary=b"a"), content_type) == "unsupported_media_type"


def test_a_compressed_form_is_refused(world: InProcess) -> None:
    assert refused(world, WHOLE, content_encoding="gzip") == "unsupported_media_type"


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"}],
)
def test_a_form_of_another_site_is_refused(world: InProcess, headers: dict[str, str]) -> None:
    assert refused(world, WHOLE, TYPE, **headers) == "stale_form"
    assert read(world, WHOLE, origin=world.settings.base_url, sec_fetch_site="same-origin").files
