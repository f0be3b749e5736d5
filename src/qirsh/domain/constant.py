"""Constants of an installation: the first process that names one decides, for all processes and for good."""

from typing import Final

import msgspec

SECRET_CHECK: Final = "secret_check"  # noqa: S105 - a name; sealed under the secret that all processes must share.


class Constant(msgspec.Struct, frozen=True):
    """A name and what was said first."""

    name: str
    value: bytes
