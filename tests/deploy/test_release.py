"""`make release`: the same bytes of the same commit, an SBOM that is the lock, and no release of anything else."""

import json
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from release.__main__ import make_release
from release.commit import Commit
from release.lock import Locked, read_lock, require_installed
from release.notes import release_notes, version_of
from release.refusal import ReleaseRefused
from release.sbom import sbom, schema_errors

ROOT: Final = Path(__file__).parents[2]
VERSION: Final = version_of(ROOT)
WHEEL: Final = f"qirsh-{VERSION}-py3-none-any.whl"
SOURCE: Final = f"qirsh-{VERSION}.tar.gz"
SECTION: Final = f"## {VERSION} - 2026-11-18\n\n### Added\n\n- Sûre: a résumé of `what` is new.\n"
COMMIT: Final = Commit("0123456789abcdef0123456789abcdef01234567", 1_700_000_000)
PIP: Final = (sys.executable, "-m", "pip")


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "release: a commit of the test")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit: the files as they stand here, and a changelog with the version's section."""
    if not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: a release is made of a commit, and this is no checkout of git")
    folder = tmp_path_factory.mktemp("origin")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
            (folder / name).chmod((ROOT / name).stat().st_mode)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n{SECTION}\n## 0.0.1\n\n- Old.\n")
    commit_all(folder)
    return folder


def released(origin: Path, clone: Path, umask: int, **environment: str) -> Path:
    """Its `dist`, made in a new clone."""
    git(origin, "clone", "-q", str(origin), str(clone))
    words = [sys.executable, "-m", "release"]
    ended = subprocess.run(
        words, cwd=clone, env=os.environ | environment, umask=umask, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == (clone / "dist/SHA256SUMS").read_text()
    return clone / "dist"


@pytest.fixture(scope="module")
def made(origin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One release."""
    return released(origin, tmp_path_factory.mktemp("first") / "clone", 0o022)


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes_elsewhere_and_at_another_time(
    origin: Path, made: Path, tmp_path: Path
) -> None:
    time.sleep(2.1)  # Times of a zip are counted by two seconds.
    elsewhere = tmp_path / "of-a-longer-name" / "another clone"
    elsewhere.parent.mkdir()
    (tmp_path / "config").write_text("[core]\n\tautocrlf = true\n[tar]\n\tumask = 077\n")
    other = released(
        origin,
        elsewhere,
        0o077,
        TZ="Asia/Damascus",
        LC_ALL="C",
        PYTHONHASHSEED="7",
        SOURCE_DATE_EPOCH="1",
        GIT_CONFIG_GLOBAL=str(tmp_path / "config"),
    )
    names = {"SHA256SUMS", WHEEL, SOURCE, f"qirsh-{VERSION}.cdx.json", f"qirsh-{VERSION}.notes.md"}
    names.add(f"qirsh-{VERSION}.requirements.txt")
    assert {file.name for file in made.iterdir()} == {file.name for file in other.iterdir()} == names
    assert [name for name in sorted(names) if (made / name).read_bytes() != (other / name).read_bytes()] == []


@pytest.mark.slow
def test_the_checksums_are_those_of_every_other_file(made: Path) -> None:
    told = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=made, capture_output=True, text=True, check=True
    )
    listed = [line.removesuffix(": OK") for line in told.stdout.splitlines()]
    assert listed == sorted(file.name for file in made.iterdir() if file.name != "SHA256SUMS")


@pytest.mark.slow
def test_an_installed_wheel_names_the_commit(origin: Path, made: Path, tmp_path: Path) -> None:
    """What it needs besides is in this environment."""
    target = tmp_path / "installed"
    subprocess.run([*PIP, "install", "-qq", "--no-deps", "--no-index", "--target", target, made / WHEEL], check=True)
    told = subprocess.run(
        [target / "bin/qirsh", "--version"],
        env=os.environ | {"PYTHONPATH": str(target)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == f"qirsh {VERSION} ({git(origin, 'rev-parse', 'HEAD')[:8]})\n"


@pytest.mark.slow
def test_the_source_archive_holds_the_commit_and_gives_the_same_wheel(origin: Path, made: Path, tmp_path: Path) -> None:
    top = SOURCE.removesuffix(".tar.gz")
    with tarfile.open(made / SOURCE) as archive:
        members = archive.getmembers()
    files = {member.name.removeprefix(f"{top}/") for member in members if not member.isdir()}
    assert files == {*git(origin, "ls-files", "-z").split("\0")} - {""} | {"PKG-INFO", "src/qirsh/commit.txt"}
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}

    subprocess.run(["tar", "-xzf", made / SOURCE, "-C", tmp_path], check=True)
    epoch = git(origin, "show", "--no-patch", "--format=%ct").strip()
    wheel = [*PIP, "wheel", "-qq", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run(
        [*wheel, str(tmp_path / top)], env=os.environ | {"SOURCE_DATE_EPOCH": epoch}, umask=0o022, check=True
    )
    assert (tmp_path / WHEEL).read_bytes() == (made / WHEEL).read_bytes()


@pytest.mark.slow
def test_the_notes_are_the_section_of_the_changelog(made: Path) -> None:
    assert (made / f"qirsh-{VERSION}.notes.md").read_text() == SECTION


@pytest.mark.parametrize("title", ["## 1.2.0", "## 1.2.0 - 2026-11-18", "## [1.2.0] - 2026-11-18"])
def test_notes_end_where_the_next_version_begins(title: str) -> None:
    text = f"{title}\n\n### Added\n\n- One.\n"
    assert release_notes(f"# Changelog\n\n## Unreleased\n\n- Later.\n\n{text}\n## 1.1.0\n\n- Old.\n", "1.2.0") == text
    assert release_notes(f"# Changelog\n\n{text}", "1.2.0") == text


@pytest.mark.parametrize(
    "changelog",
    [
        "## Unreleased\n\n- One.\n",
        "## 1.2.0.1\n\n- One.\n",
        "## 11.2.0\n\n- One.\n",
        "## 1x2.0\n\n- One.\n",
        "### 1.2.0\n\n- One.\n",
        "## 1.2.0\n\n## 1.1.0\n\n- Old.\n",
    ],
)
def test_a_version_that_the_changelog_says_nothing_of_is_refused(changelog: str) -> None:
    with pytest.raises(ReleaseRefused, match=r"section of 1\.2\.0"):
        release_notes(changelog, "1.2.0")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A repository that has no more than a release looks at first; none is made of it."""
    (tmp_path / "src/qirsh").mkdir(parents=True)
    (tmp_path / "src/qirsh/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n\n- One.\n")
    (tmp_path / ".gitignore").write_text("*.db\n")
    commit_all(tmp_path)
    yield tmp_path
    assert not (tmp_path / "dist").exists()


def test_a_missing_section_ends_the_program_with_a_message(small: Path) -> None:
    (small / "qirsh.db").touch()  # Ignored, so that the tree is clean.
    ended = subprocess.run(
        [sys.executable, "-m", "release"],
        cwd=small,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("no release: CHANGELOG.md has no section of 1.2.0: ")


@pytest.mark.parametrize("name", ["CHANGELOG.md", "new.txt", "src/qirsh/new.py"])
def test_a_tree_that_is_not_its_commit_is_refused(small: Path, name: str) -> None:
    git(small, "config", "status.showUntrackedFiles", "no")
    (small / name).write_text("## 1.2.0\n\n- Not committed.\n")
    with pytest.raises(ReleaseRefused, match=f"not clean(?s:.)*{re.escape(name)}"):
        make_release(small)


def test_what_is_no_checkout_is_refused(small: Path) -> None:
    (small / "unpacked").mkdir()
    with pytest.raises(ReleaseRefused, match="no checkout"):
        make_release(small / "unpacked")


def test_another_version_than_the_locked_one_is_refused() -> None:
    built_by = read_lock(ROOT / "requirements-build.txt")
    require_installed(built_by)
    with pytest.raises(ReleaseRefused, match=r"the lock names setuptools 1\.0, and installed is \d+.*make setup"):
        require_installed([built_by[0]._replace(version="1.0")])
    absent = Locked("no-such-package", "1.0", "", ())
    with pytest.raises(ReleaseRefused, match="installed is none"):
        require_installed([absent])
    require_installed([absent._replace(marker="python_version < '3'")])


def test_a_line_without_a_hash_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("lamp==1.2\n")
    with pytest.raises(ReleaseRefused, match=r"not a locked package: lamp==1\.2"):
        read_lock(tmp_path / "requirements.txt")


@pytest.fixture(scope="module")
def document() -> Mapping[str, Any]:
    """The SBOM of the lock."""
    direct = re.findall(r"^[a-z].*$", (ROOT / "requirements.in").read_text(), re.MULTILINE)
    made = json.loads(sbom(read_lock(ROOT / "requirements.txt"), direct, VERSION, COMMIT))
    assert isinstance(made, dict)
    return made


def test_the_sbom_has_exactly_the_packages_of_the_lock_with_their_hashes(document: Mapping[str, Any]) -> None:
    lock = (ROOT / "requirements.txt").read_text()
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))
    assert {each["name"]: each["version"] for each in document["components"]} == locked
    assert len(document["components"]) == len(locked)
    for each in document["components"]:
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        [own] = re.findall(rf"^{re.escape(each['name'])}==.*\n((?: +--hash.*\n)+)", lock, re.MULTILINE)
        hashes = re.findall(r"sha256:(\w{64})", own)
        assert [(sha["alg"], sha["content"]) for sha in each["hashes"]] == [("SHA-256", sha) for sha in sorted(hashes)]
    assert sum(len(each["hashes"]) for each in document["components"]) == lock.count("--hash=")


def test_the_sbom_tells_of_the_release_and_of_licences(document: Mapping[str, Any]) -> None:
    product = document["metadata"]["component"]
    assert (product["name"], product["version"]) == ("qirsh", VERSION)
    assert product["properties"] == [{"name": "qirsh:commit", "value": COMMIT.name}]
    assert document["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    licences = {each["name"]: each.get("licenses") for each in document["components"]}
    assert licences["uvicorn"] == [{"license": {"acknowledgement": "declared", "id": "BSD-3-Clause"}}]
    assert licences["cryptography"] == [{"acknowledgement": "declared", "expression": "Apache-2.0 OR BSD-3-Clause"}]
    # Its metadata has a classifier and no more.
    assert licences["jinja2"] == [{"license": {"acknowledgement": "declared", "name": "BSD License"}}]


def test_every_package_of_the_sbom_is_there_because_another_needs_it(document: Mapping[str, Any]) -> None:
    needs = {each["ref"]: each.get("dependsOn", []) for each in document["dependencies"]}
    reached, waiting = set[str](), ["qirsh"]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting += needs[reference]
    assert reached == {"qirsh", *(each["bom-ref"] for each in document["components"])}


def test_the_sbom_is_as_its_schema_wants_it_and_the_schema_can_say_no(document: Mapping[str, Any]) -> None:
    assert document["specVersion"] == "1.6"
    assert schema_errors(json.dumps(document)) == []
    component = document["components"][0]
    for wrong in (
        {"hashes": [{"alg": "SHA-256", "content": "zz"}]},
        {"licenses": [{"license": {"id": "No-Such-Licence"}}]},  # Of the schema that this one refers to.
        {"type": "thing"},
        {"unknown": 1},
    ):
        [fault, *_] = schema_errors(json.dumps({**document, "components": [{**component, **wrong}]}))
        assert fault.startswith("components/0")
