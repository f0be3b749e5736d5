"""`make flaky N=20 TESTS=tests/web/server`: repeat tests beside a load on every core, and name those that failed."""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

# What a test that must never depend on a quiet machine has beside it: twice the cores of a small one, its disk and its
# memory.
_LOAD: Final = ("stress-ng", "--cpu", "4", "--io", "2", "--vm", "1", "--quiet")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR|SUBFAILED\S*) (\S.*?)(?: - .*)?$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make flaky", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("tests", nargs="+", help="as pytest takes them")
    options = parser.parse_args()
    failures: Counter[str] = Counter()
    bad_runs = 0
    with _load():
        for run in range(1, options.runs + 1):
            ended = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", *options.tests],
                capture_output=True,
                text=True,
                check=False,
            )
            if ended.returncode:
                bad_runs += 1
                failures.update(_FAILED.findall(ended.stdout) or [f"pytest ended with {ended.returncode}"])
                print(ended.stdout, ended.stderr)  # noqa: T201 - a report
            print(f"run {run} of {options.runs}: {(ended.stdout.splitlines() or [''])[-1]}", flush=True)  # noqa: T201
    for test, times in failures.most_common():
        print(f"failed {times} of {options.runs} times: {test}")  # noqa: T201
    print(f"{options.runs - bad_runs} passed, {bad_runs} failed")  # noqa: T201 - runs
    return int(bad_runs > 0)


@contextlib.contextmanager
def _load() -> Iterator[None]:
    if shutil.which(_LOAD[0]) is None:
        sys.exit("as root: apt-get install stress-ng")
    with subprocess.Popen(["setpriv", "--pdeathsig=KILL", "--", *_LOAD], env=os.environ) as load:
        try:
            yield
        finally:
            load.terminate()


if __name__ == "__main__":
    sys.exit(main())
