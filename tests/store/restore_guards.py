"""What hands might type about restores: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

_RAISED: Final = "UPDATE constant SET value = (SELECT value FROM constant WHERE name = 'two') WHERE name = 'epoch';"
_LAST_TRANSFER: Final = "(SELECT max(id) FROM transfer)"
_LAST_SEAL: Final = "(SELECT max(number) FROM seal)"
_NOT_BEGUN: Final = "is not of the epoch that has begun"
_ENDED: Final = "does not say where the database ended"
_CHECK: Final = "restore_\\w*check|CHECK"


def _restore(
    epoch: str = "2", *, taken_at: int = 1, last: str = f"{_LAST_TRANSFER}, {_LAST_SEAL}", by: str = "x"
) -> str:
    return f"INSERT INTO restore VALUES ({epoch}, {taken_at}, 2, {last}, '{by}');"


BAD_RESTORES: Final[dict[str, tuple[str, str]]] = {
    "a restore of an epoch that has not begun": (_restore(), _NOT_BEGUN),
    "a restore of an epoch that is over": (_RAISED + _restore("0"), f"{_NOT_BEGUN}|{_CHECK}"),
    "a restore that takes transfers of another epoch": (_RAISED + _restore(last=f"1, {_LAST_SEAL}"), _ENDED),
    "a restore that knows fewer seals": (_RAISED + _restore(last=f"{_LAST_TRANSFER}, 0"), _ENDED),
    "a restore to the future": (_RAISED + _restore(taken_at=3), _CHECK),
    "a restore by nobody": (_RAISED + _restore(by=""), _CHECK),
    "a restore that changes": ("UPDATE restore SET last_transfer = last_transfer - 1", "restores never change"),
    "a restore that vanished": ("DELETE FROM restore", "restores never vanish"),
}
GOOD_RESTORES: Final = {"a restore of the epoch that has begun": _RAISED + _restore()}
REPLACED_RESTORES: Final[dict[str, tuple[str, str]]] = {
    "a restore replaced": (
        (
            "INSERT OR REPLACE INTO restore"
            f" SELECT epoch, 0, restored_at, {_LAST_TRANSFER}, {_LAST_SEAL}, 'x' FROM restore"
        ),
        "never replaced",
    ),
}
