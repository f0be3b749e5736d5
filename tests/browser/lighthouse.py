"""What Lighthouse says of a demo's front page, pay page and wallet, the middle of three runs each: `make lighthouse`.

Below 95 it fails.
"""

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

import httpx2

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


def scores(address: str, folder: Path, cookie: str = "") -> dict[str, int]:
    """Of one run, from 0 to 100. What was not perfect is printed."""
    report = folder / "report.json"
    chromium = shutil.which("chromium-headless-shell") or ""
    environment = {**os.environ, "CHROME_PATH": chromium}
    signed_in = [f"--extra-headers={json.dumps({'Cookie': cookie})}"] if cookie else []
    command = [*_PROGRAM, address, *_CHOICES, *signed_in, f"--output-path={report}"]
    subprocess.run(command, check=True, env=environment, timeout=300)
    told = json.loads(report.read_text())
    for audit in told["audits"].values():
        if audit["score"] is not None and audit["score"] < 1:
            say(f"  {audit['score']:.2f} {audit['title']} {audit.get('displayValue', '')}")
    return {kind: round(100 * told["categories"][kind]["score"]) for kind in _KINDS}


def signed_in(base_url: str, folder: Path) -> str:
    """The cookie of a demo's customer."""
    customer = json.loads((folder / "data" / "demo.json").read_text())["customer"]
    with httpx2.Client(base_url=base_url, trust_env=False) as client:
        page = client.get("/sign-in").text
        [token] = re.findall(r'action="/sign-in">\s*<input type="hidden" name="token" value="(\w+)"', page)
        form = {"token": token, "email": customer["email"], "password": customer["password"], "pay": ""}
        assert client.post("/sign-in", data=form).status_code == 303
        return f"qirsh={client.cookies['qirsh']}"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="qirsh-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "qirsh", "demo", "--port", "0"]
        environment = {**os.environ, "QIRSH_DATA_DIR": str(folder / "data")}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
            assert demo.stdout is not None
            try:
                found = (re.search(r"(http://[^/\s]+)/pay/[0-9]{16}", line) for line in demo.stdout)
                match = next(match for match in found if match)
                base_url, cookie = match[1], signed_in(match[1], folder)
                pages = {
                    "front page": (f"{base_url}/", ""),
                    "pay page": (match[0], ""),
                    "wallet": (f"{base_url}/wallet", cookie),
                }
                middle = {
                    page: _middle([scores(address, folder, own) for _ in range(_RUNS)])
                    for page, (address, own) in pages.items()
                }
            finally:
                demo.terminate()
    for page, kinds in middle.items():
        say(f"{page}: {', '.join(f'{kind} {score:.0f}' for kind, score in kinds.items())}")
    sys.exit(min(score for kinds in middle.values() for score in kinds.values()) < _LEAST)


def _middle(runs: list[dict[str, int]]) -> dict[str, float]:
    return {kind: statistics.median(run[kind] for run in runs) for kind in _KINDS}


if __name__ == "__main__":
    main()
