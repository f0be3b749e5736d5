"""A picture such as people take of a document."""

import io

from PIL import Image


def picture(kind: str = "JPEG", size: tuple[int, int] = (400, 250)) -> bytes:
    """A small picture of nothing."""
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind)
    return out.getvalue()
