"""What is shown of a receiver's words."""

import pytest

from qirsh.outbound.excerpt import make_excerpt


def test_what_a_receiver_says_is_kept_as_inert_text(subtests: pytest.Subtests) -> None:
    for body, excerpt in [
        (b"", ""),
        (b"fine", "fine"),
        ("طلب مدفوع".encode(), "طلب مدفوع"),
        (b"a\r\nb\nc\td", "a\nb\nc d"),
        (b"\x1b[31mred\x07\x00", "\ufffd[31mred\ufffd\ufffd"),
        ("a\u202eb\u2066c\u200fd\u061ce".encode(), "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("a\u200bb\ufeffc\u00add\ue000".encode(), "a\ufffdb\ufffdc\ufffdd\ufffd"),
        ("مي\u200cرو".encode(), "مي\u200cرو"),
        ("a\u2028b\u00a0c\u3000d".encode(), "a b c d"),
        (b"\xff\xfea\xed\xa0\x80", "\ufffd\ufffda\ufffd\ufffd\ufffd"),
        ("😀".encode() * 2000, "😀" * 1000),
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
    ]:
        with subtests.test(f"{body!r} {excerpt!r}"):
            assert make_excerpt(body) == excerpt
