"""What follows an answer of the server is taken whole, or it is said that it is a part."""

import io

import pytest

from qirsh.cli import control_client
from qirsh.cli.errors import Stopped


def taken(content: bytes) -> bytes:
    return b"".join(control_client._following(io.BytesIO(content)))  # noqa: SLF001 - as the socket gives it


def test_pieces_are_taken_until_the_zero() -> None:
    assert taken(b"3\nabc13\nwith\na break.0\nmore") == b"abcwith\na break."
    assert taken(b"0\n") == b""


@pytest.mark.parametrize("cut", [b"", b"3\nabc", b"3\nab", b"3\nabc5\nxy", b"nonsense\n"])
def test_what_ends_early_is_a_part(cut: bytes) -> None:
    with pytest.raises(Stopped, match="is a part"):
        taken(cut)
