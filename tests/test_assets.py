"""Files of others in the package are exactly those that were looked at, and each brings its licence."""

import hashlib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
LISTED: Final = [line.split(" ") for line in (ROOT / "assets.txt").read_text().splitlines()]
SUMS: Final = dict(line.split("  ")[::-1] for line in (ROOT / "assets.sha256").read_text().splitlines())


def test_the_committed_bytes_are_those_of_the_list() -> None:
    assert [target for _, _, target in LISTED] == list(SUMS)
    for target, expected in SUMS.items():
        assert hashlib.sha256((ROOT / target).read_bytes()).hexdigest() == expected, target


def test_each_package_is_named_by_an_exact_version_and_has_its_licence_beside_it() -> None:
    for package in {package for package, _, _ in LISTED}:
        assert package.rpartition("@")[2].replace(".", "").isdigit()
        assert any(file == "LICENSE" for other, file, _ in LISTED if other == package)
    fonts = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.woff2")}
    assert fonts == {target for target in SUMS if target.endswith(".woff2")}
