"""Constants of an installation: whoever names one first decides, and it is the same for all processes ever after."""

from typing import Final

import msgspec

SECRET_CHECK: Final = "secret_check"  # noqa: S105 - a name; sealed under the secret that all processes must share.


class Constant(msgspec.Struct, frozen=True):
    """A name and what was said first."""

    name: str
    value: bytes
