"""The processes that run the tests: every test runs once, and whatever happens in one of them is told."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SHARED: Final = """
import atexit, os, pathlib, pytest, time
HERE = pathlib.Path(__file__).parent
PARENT = os.getpid()

@pytest.fixture(scope="module")
def made():
    (HERE / f"made-{os.getpid()}").touch()
    atexit.register((HERE / f"ended-{os.getpid()}").touch)
    yield []
    (HERE / f"left-{os.getpid()}").touch()

@pytest.mark.parametrize("number", range(60))
def test_one(made, number, tmp_path):
    assert os.getpid() != PARENT
    time.sleep(0.1 if number < 20 else 0)  # The others take from who has these.
    assert not made or made[-1] < number
    made.append(number)
    (tmp_path / "file").touch()
    (HERE / "folder").write_text(str(tmp_path))
    with (HERE / "numbers").open("a") as file:
        file.write(f"{number}\\n")
"""


LEAVING: Final = """
import pytest

def test_end(): pytest.exit("enough")
"""


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.parallel", "-p", "no:cacheprovider"]
    command += ["--processes=3", f"--rootdir={folder}", *more, str(folder)]
    # Its own, so that no other run of pytest takes the name of a folder that was removed.
    told = {**os.environ, "PYTEST_DEBUG_TEMPROOT": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60, env=told)


def test_every_test_runs_once_and_what_they_share_ends(tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(SHARED)
    ended = run(tmp_path, "-o", "tmp_path_retention_policy=failed")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "60 passed" in ended.stdout
    assert sorted(map(int, (tmp_path / "numbers").read_text().split())) == [*range(60)]
    makers = {file.name.partition("-")[2] for file in tmp_path.glob("made-*")}
    assert len(makers) == 3
    assert not Path((tmp_path / "folder").read_text()).parents[1].exists()
    for what in ("left", "ended"):
        assert {file.name.partition("-")[2] for file in tmp_path.glob(f"{what}-*")} == makers


def test_what_is_made_before_the_fork_is_made_once_and_ended_by_its_maker(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("""
import atexit, os, pathlib
HERE = pathlib.Path(__file__).parent
made = []

def pytest_before_fork(items):
    assert len(items) == 60
    (HERE / f"made-{os.getpid()}").touch()
    made.append(os.getpid())
    atexit.register((HERE / f"ended-{os.getpid()}").touch)
    atexit.register(lambda: (HERE / f"by-{os.getpid()}").touch())
""")
    (tmp_path / "test_using.py").write_text("""
import os, pytest

@pytest.mark.parametrize("number", range(60))
def test_one(number, request):
    [conftest] = [plugin for plugin in request.config.pluginmanager.get_plugins() if hasattr(plugin, "made")]
    assert len(conftest.made) == 1
    assert conftest.made != [os.getpid()]
    assert not list(conftest.HERE.glob("ended-*"))
""")
    ended = run(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    [maker] = (file.name.partition("-")[2] for file in tmp_path.glob("made-*"))
    assert [file.name for file in tmp_path.glob("ended-*")] == [f"ended-{maker}"]
    assert [file.name for file in tmp_path.glob("by-*")] == [f"by-{maker}"]


def test_what_fails_is_told_with_what_it_has_printed_and_what_is_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "test_mixed.py").write_text("""
import pytest

def test_good(): pass

def test_bad():
    print("said before")
    assert 1 + 1 == 3

@pytest.mark.skip(reason="no such thing here")
def test_left_out(): pass

@pytest.fixture
def broken(): raise RuntimeError("cannot be made")

def test_without(broken): pass
""")
    ended = run(tmp_path, "-rs")
    assert ended.returncode == 1
    for words in ("1 failed, 1 passed, 1 skipped, 1 error", "said before", "assert (1 + 1) == 3", "no such thing here"):
        assert words in ended.stdout, ended.stdout


def test_what_a_process_says_at_its_end_is_heard(tmp_path: Path) -> None:
    (tmp_path / "test_leaving.py").write_text(LEAVING)
    ended = run(tmp_path)
    assert ended.returncode != 0
    assert "enough" in ended.stderr


def test_a_process_that_dies_ends_the_run_and_the_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_deadly.py").write_text("import os\n\ndef test_end(): os._exit(3)\n")
    (tmp_path / "test_other.py").write_text("def test_good(): pass\n")
    ended = run(tmp_path)
    assert ended.returncode != 0
    assert "of the tests ended with 3, at " in ended.stdout + ended.stderr
    assert "test_deadly.py::test_end" in ended.stdout + ended.stderr
