"""What Lighthouse says of a demo's pay page, the middle of three runs: `make lighthouse`. Below 95 it fails."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_RUNS: Final = 3
_LEAST: Final = 95
_KINDS: Final = ("performance", "accessibility", "best-practices")
# From npm, by an exact version.
_PROGRAM: Final = ("npm", "exec", "--yes", "--loglevel=error", "--package=lighthouse@13.5.0", "--", "lighthouse")
_CHOICES: Final = (
    *("--quiet", "--chrome-flags=--headless=new --no-sandbox", "--output=json"),
    f"--only-categories={','.join(_KINDS)}",
)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def scores(address: str, folder: Path) -> dict[str, int]:
    """Of one run, from 0 to 100. What was not perfect is printed."""
    report = folder / "report.json"
    chromium = shutil.which("chromium-headless-shell") or ""
    environment = {**os.environ, "CHROME_PATH": chromium}
    subprocess.run([*_PROGRAM, address, *_CHOICES, f"--output-path={report}"], check=True, env=environment, timeout=300)
    told = json.loads(report.read_text())
    for audit in told["audits"].values():
        if audit["score"] is not None and audit["score"] < 1:
            say(f"  {audit['score']:.2f} {audit['title']} {audit.get('displayValue', '')}")
    return {kind: round(100 * told["categories"][kind]["score"]) for kind in _KINDS}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="qirsh-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "qirsh", "demo", "--port", "0"]
        environment = {**os.environ, "QIRSH_DATA_DIR": str(folder / "data")}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
            assert demo.stdout is not None
            try:
                found = (re.search(r"http://\S+/pay/[0-9]{16}", line) for line in demo.stdout)
                address = next(match.group() for match in found if match)
                runs = [scores(address, folder) for _ in range(_RUNS)]
            finally:
                demo.terminate()
    middle = {kind: statistics.median(run[kind] for run in runs) for kind in _KINDS}
    say(f"pay page: {', '.join(f'{kind} {score:.0f}' for kind, score in middle.items())}")
    sys.exit(min(middle.values()) < _LEAST)


if __name__ == "__main__":
    main()
