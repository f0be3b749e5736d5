"""A real Prometheus with the configuration and the rules of deploy/prometheus."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from tests.deploy.prometheus_rules import FOLDER
from tests.deploy.prometheus_tools import tool
from tests.live import TIED, free_port

FASTER: Final = 8  # Of the rules' minutes each takes seven seconds: a window has several scrapes.


def hurried(rules: str) -> str:
    """The same rules, with every window and wait shorter."""
    sizes = {"m": 60, "h": 3600, "d": 86400}

    def shorter(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) * sizes[found[3]] // FASTER}s{found[4]}"

    rules = re.sub(r"(\[)(\d+)([mhd])(\])", shorter, rules)
    return re.sub(r"( for: | offset )(\d+)([mhd])\b()", shorter, rules)


class Prometheus:
    """One that runs."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    def ask(self, path: str) -> dict[str, Any]:
        """What it tells; nothing while it does not answer."""
        try:
            answer = httpx2.get(f"{self._address}/api/v1/{path}", timeout=None)
        except httpx2.TransportError:
            return {}
        told: dict[str, Any] = answer.json()["data"] if answer.status_code == 200 else {}
        return told

    def healthy(self) -> int:
        """Servers that it reaches."""
        return [target["health"] for target in self.ask("targets").get("activeTargets", [])].count("up")

    def evaluated(self) -> int:
        """How many groups of rules it has looked at without an error."""
        rules = [rule for group in self.ask("rules").get("groups", []) for rule in group["rules"]]
        assert not [rule for rule in rules if rule["health"] == "err"]
        return sum(rule["health"] == "ok" for rule in rules)

    def firing(self) -> dict[str, str]:
        """Names and severities."""
        told = self.ask("alerts").get("alerts", [])
        return {one["labels"]["alertname"]: one["labels"]["severity"] for one in told if one["state"] == "firing"}


@contextmanager
def prometheus(folder: Path, token: str, *ports: int) -> Iterator[Prometheus]:
    """With the files of the repository, other addresses and less patience."""
    program = tool("prometheus")
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    # While the database is away it takes two seconds to give up asking it.
    config["global"] = {"scrape_interval": "4s", "scrape_timeout": "4s", "evaluation_interval": "2s"}
    config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (folder / "rules.yml").write_text(hurried((FOLDER / "rules.yml").read_text()))
    (folder / "qirsh-metrics-token").write_text(token)
    port = free_port()
    words = ("--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*TIED[:-1], program, *words], cwd=folder, stdout=log, stderr=log)
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(60)
