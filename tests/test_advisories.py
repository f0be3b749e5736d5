"""`make advisories` leaves nothing out: what is weak, what is late, and what cannot be learned."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.advisories import BEHIND_MAX, ROOT, Library, findings, locked
from tests.each import each

NOW = datetime(2026, 11, 17, tzinfo=UTC)
LONG_AGO = NOW - 2 * BEHIND_MAX
LAMP = Library("lamp", "1.2")


def release(when: datetime, *, yanked: bool = False) -> list[dict[str, Any]]:
    return [{"upload_time_iso_8601": when.isoformat().replace("+00:00", "Z"), "yanked": yanked}]


def answer(newest: str = "1.2", weak: object = (), **releases: list[dict[str, Any]]) -> Mapping[str, Any]:
    return {
        "info": {"version": newest},
        "vulnerabilities": weak,
        "releases": {
            "1.2": release(LONG_AGO),
            **{name.strip("v").replace("_", "."): files for name, files in releases.items()},
        },
    }


def found(answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return findings(LAMP, answers.get, NOW)


def weakness(*fixed: str, withdrawn: str | None = None) -> list[dict[str, Any]]:
    return [{"id": "PYSEC-1", "fixed_in": list(fixed), "withdrawn": withdrawn}]


def test_every_library_of_every_lock_file_is_asked_for(tmp_path: Path) -> None:
    names = {library.name for library in locked(ROOT)}
    assert {"uvicorn", "pytest", "setuptools"} <= names
    (tmp_path / "requirements.txt").write_text(
        "lamp==1.2 \\\n    --hash=sha256:00\noil==3 ; python_version < '3.12' \\\n"
    )
    (tmp_path / "requirements-dev.txt").write_text("lamp==1.2 \\\n    --hash=sha256:00\n")
    assert locked(tmp_path) == [LAMP, Library("oil", "3")]


def test_nothing_is_found_of_the_newest_without_a_known_weakness() -> None:
    assert found({"lamp/json": answer(), "lamp/1.2/json": answer()}) == []
    # Where versions are not answered for, what is known of the newest is enough if it is this one.
    assert found({"lamp/json": answer()}) == []


def test_a_weak_one_is_named_with_what_mends_it() -> None:
    own = answer(weak=weakness("1.3", "2.0"))
    told = ["lamp 1.2: WEAK: PYSEC-1, better in 1.3, 2.0"]
    assert found({"lamp/json": answer("2.0", v2_0=release(NOW)), "lamp/1.2/json": own}) == told
    assert found({"lamp/json": own}) == told
    assert found({"lamp/json": answer(weak=weakness())}) == ["lamp 1.2: WEAK: PYSEC-1, better in no version yet"]
    assert found({"lamp/json": answer(weak=weakness("2.0", withdrawn="2026-01-01T00:00:00Z"))}) == []


def test_silence_is_no_good_news() -> None:
    unknown = "lamp 1.2: UNKNOWN: the registry tells no "
    assert found({}) == [f"{unknown}weaknesses of this version", f"{unknown}versions"]
    assert found({"lamp/1.2/json": answer()}) == [f"{unknown}versions"]
    # What is known of the newest says nothing of an older one.
    newest = answer("1.3", v1_3=release(NOW))
    assert found({"lamp/json": newest}) == [f"{unknown}weaknesses of this version"]


@each(
    ("releases", "is_late"),
    [
        ({"v1_3": release(NOW - BEHIND_MAX)}, False),
        ({"v1_3": release(LONG_AGO)}, True),
        ({"v1_3": release(LONG_AGO), "v1_4": release(NOW)}, True),
        ({"v1_3": release(LONG_AGO, yanked=True)}, False),
        ({"v1_3": []}, False),
        ({"v1_1_9": release(LONG_AGO)}, False),
        ({"v2_0rc1": release(LONG_AGO)}, False),
        ({"odd name": release(LONG_AGO)}, False),
        ({"v1_10": release(LONG_AGO)}, True),
    ],
)
def test_one_is_late_when_a_newer_one_has_been_there_for_half_a_year(
    releases: dict[str, list[dict[str, Any]]], *, is_late: bool
) -> None:
    told = found({"lamp/json": answer("9", **releases), "lamp/1.2/json": answer()})
    late = f"lamp 1.2: LATE: there has been a newer one since {LONG_AGO:%Y-%m-%d}; the newest is 9"
    assert told == ([late] if is_late else [])
