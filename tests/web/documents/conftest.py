"""What the tests of pictures share."""

from typing import Any

import pytest
from PIL.ImageFile import ImageFile
from PIL.WebPImagePlugin import WebPImageFile


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names the kind of each picture whose pixels are decoded from now on."""
    kinds: list[str] = []

    def watch(kind: Any) -> None:  # noqa: ANN401 - a class whose method is replaced
        load = kind.load

        def watched(image: ImageFile) -> object:
            kinds.append(type(image).__name__)
            return load(image)

        monkeypatch.setattr(kind, "load", watched)

    watch(ImageFile)
    watch(WebPImageFile)
    return kinds
