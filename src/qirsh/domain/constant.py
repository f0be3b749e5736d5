"""Constants of an installation: the first process that names one decides, for all processes and for good."""

from typing import Final

import msgspec

EPOCH: Final = "epoch"  # In decimal digits. It grows with each restore, so that no id is given twice.
SECRET_CHECK: Final = "secret_check"  # noqa: S105 - a name; sealed under the secret that all processes must share.
MOVED: Final = "moved"  # Where to: this database is never served again.
MOVED_BY: Final = "moved_by"  # What a file beside the new place says: the same path may be on another machine too.
ARRIVED: Final = "arrived"  # What was moved is whole in its new place, which may have gone on since.


class Constant(msgspec.Struct, frozen=True):
    """A name and what was said first."""

    name: str
    value: bytes
