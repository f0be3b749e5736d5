"""`make mutants`: break one rule after another in copies of the tree, and see that a test notices each time.

Prints a line a mutant and a table; ends with 1 if one survived or no longer fits the source, with 0 otherwise.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Literal, NamedTuple

from tests.mutation.mutants import GROUPS, Group, Mutant

Verdict = Literal["killed", "SURVIVED", "STALE", "BROKEN"]

_ROOT: Final = Path(__file__).parents[2]
_LEFT_OUT: Final = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "build", "dist")
_PASSED, _FAILED = 0, 1  # Of pytest's exit codes; any other is a run that could not be made.


class Result(NamedTuple):
    group: Group
    mutant: Mutant
    verdict: Verdict
    noticed_by: str  # The first test that failed, or what pytest printed last.


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="groups or files whose name contains this")
    options = parser.parse_args()
    chosen = [
        (group, mutant)
        for group in GROUPS
        for mutant in group.mutants
        if options.only in group.name or options.only in mutant.file
    ]
    trees: SimpleQueue[Path] = SimpleQueue()
    number = count(1)
    results = []
    with tempfile.TemporaryDirectory(prefix="qirsh-mutants-") as folder:
        for one in range(options.processes):
            trees.put(Path(shutil.copytree(_ROOT, Path(folder) / str(one), ignore=_LEFT_OUT)))
        with ThreadPoolExecutor(options.processes) as pool:
            for result in pool.map(lambda one: _tried(one[0], one[1], trees), chosen):
                results.append(result)
                print(f"{next(number):3}/{len(chosen)} {_line(result)}", flush=True)  # noqa: T201 - a report
    print("\n".join(_table(results)))  # noqa: T201
    return int(any(result.verdict != "killed" for result in results))


def _tried(group: Group, mutant: Mutant, trees: SimpleQueue[Path]) -> Result:
    tree = trees.get()
    file = tree / "src/qirsh" / mutant.file
    original = file.read_text()
    try:
        if original.count(mutant.before) != 1 or mutant.before == mutant.after:
            return Result(group, mutant, "STALE", f"its text stands {original.count(mutant.before)} times in the file")
        file.write_text(original.replace(mutant.before, mutant.after))
        return _judged(group, mutant, tree)
    finally:
        file.write_text(original)
        trees.put(tree)


def _judged(group: Group, mutant: Mutant, tree: Path) -> Result:
    """By the first of its tests that fails, the quickest first."""
    ended = None
    for tests in group.tests:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "HYPOTHESIS_PROFILE": "short"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = ended.stdout.splitlines() or ended.stderr.splitlines()
        failed = [line for line in said if line.startswith(("FAILED", "ERROR", "SUBFAILED"))]
        if ended.returncode == _FAILED:
            return Result(group, mutant, "killed", failed[0] if failed else said[-1])
        if ended.returncode != _PASSED:
            # A rule so broken that the tests cannot even begin is noticed; pytest then names what it could not collect.
            return Result(group, mutant, "killed" if failed else "BROKEN", (failed or said or ["it said nothing"])[0])
    return Result(group, mutant, "SURVIVED", "")


def _line(result: Result) -> str:
    change = result.mutant.before.strip().splitlines()[0][:60]
    return f"{result.verdict:8} {result.mutant.file}: {change}  [{result.noticed_by[:110]}]"


def _table(results: list[Result]) -> Iterator[str]:
    yield ""
    for group in dict.fromkeys(result.group for result in results):
        found = Counter(result.verdict for result in results if result.group is group)
        yield f"{group.name}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(found.items()))
    found = Counter(result.verdict for result in results)
    yield f"all: {found['killed']} of {len(results)} killed"


if __name__ == "__main__":
    sys.exit(main())
