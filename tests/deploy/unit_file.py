"""Units as systemd reads them: files with drop-ins, specifiers, and what a service gets from them."""

import re
from pathlib import Path
from typing import Final, NamedTuple

UNITS: Final = Path(__file__).parents[2] / "deploy" / "systemd"


class Unit(NamedTuple):
    """A service; each key of [Service] with its values in order."""

    name: str
    service: dict[str, list[str]]

    def last(self, key: str, default: str = "") -> str:
        """What counts where a key is not a list."""
        return self.service.get(key, [default])[-1]

    def is_on(self, key: str) -> bool:
        return self.last(key) in {"yes", "true", "on", "1"}


def read_unit(folder: Path, name: str) -> Unit:
    """With the drop-ins beside it."""
    service: dict[str, list[str]] = {}
    for file in (folder / name, *sorted((folder / f"{name}.d").glob("*.conf"))):
        section = ""
        for line in file.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif "=" in line and not line.startswith(("#", ";")) and section == "Service":
                key, _, value = line.partition("=")
                service.setdefault(key, []).append(value)
    return Unit(name, service)


def expanded(text: str, root: Path, unit: str) -> str:
    """A value with the specifiers that our units use, in a root of its own."""
    prefix = str(root).rstrip("/")
    places = {"%S": f"{prefix}/var/lib", "%t": f"{prefix}/run", "%d": f"{prefix}/run/credentials/{unit}", "%%": "%"}
    return re.sub("%.", lambda found: places[found.group()], text)


def environment_file(text: str) -> dict[str, str]:
    """As systemd.exec(5) has it, as far as ours goes: no continued lines and no escapes."""
    pairs = (line.strip().partition("=") for line in text.splitlines() if re.match(r"\s*\w+=", line))
    return {name: value.strip().strip("\"'") for name, _, value in pairs}
