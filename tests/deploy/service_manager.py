"""What `install.sh` uses of systemctl, for where no systemd runs: `python -m tests.deploy.service_manager start UNIT`.

Starts what the unit says with the environment, the credentials and the directories it says, waits for READY=1 of
Type=notify, and stops it by SIGTERM. Variables: ROOT, as for install.sh; RESTRICTED=1 applies the unit's restrictions,
which takes root, and then ROOT is /.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.deploy.unit_file import Unit, environment_file, expanded, read_unit

_ROOT: Final = Path(os.environ.get("ROOT", "/"))
_PREFIX: Final = str(_ROOT).rstrip("/")  # Of absolute paths.
_UNITS: Final = _ROOT / "etc/systemd/system"
_PLACE: Final = _ROOT / "run/service-manager"


def main(words: list[str]) -> int:
    """The exit code; 1 for a unit that did not start."""
    verb, *units = [word for word in words if not word.startswith("-")]
    _PLACE.mkdir(parents=True, exist_ok=True)
    if verb == "is-active":
        return 0 if all(_process(name) for name in units) else 3
    if verb == "stop":
        return max(_stop(name) for name in units)
    if verb == "start":
        return max((_start(name) for name in units if not name.endswith(".timer")), default=0)
    if verb == "reload":
        for name in units:
            os.kill(_process(name), signal.SIGHUP)
        return 0
    return 0 if verb in {"daemon-reload", "enable"} else 64


def _process(name: str) -> int:
    """Its number; 0 if it does not run."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        process = int((_PLACE / f"{name}.pid").read_text())
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            return process
    return 0


def _stop(name: str) -> int:
    process = _process(name)
    if process:
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(process)
            try:
                signal.pidfd_send_signal(ended, signal.SIGTERM)
                select.select([ended], [], [])
            finally:
                os.close(ended)
    (_PLACE / f"{name}.pid").unlink(missing_ok=True)
    return 0


def _owners() -> tuple[int, int, int]:
    """User, group and group of operators, as ROOT's own files have them; without root, who runs this."""
    if os.getuid():
        return os.getuid(), os.getgid(), os.getgid()

    def numbers(file: str) -> dict[str, int]:
        lines = [line.split(":") for line in (_ROOT / "etc" / file).read_text().splitlines()]
        return {line[0]: int(line[2]) for line in lines}

    return numbers("passwd")["qirsh"], numbers("group")["qirsh"], numbers("group")["qirsh-operators"]


def _prepare(unit: Unit) -> dict[str, str]:
    """Directories and credentials are there, and this is the environment."""
    user, group, operators = _owners()
    for kind, parent in (("StateDirectory", "var/lib"), ("RuntimeDirectory", "run")):
        for folder in (_ROOT / parent / name for name in unit.service.get(kind, [])):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(int(unit.last(f"{kind}Mode", "0755"), 8))
            os.chown(folder, user, group)
    lent = _ROOT / "run/credentials" / unit.name
    shutil.rmtree(lent, ignore_errors=True)
    lent.mkdir(parents=True)
    for name, source in (one.split(":") for one in unit.service.get("LoadCredential", [])):
        shutil.copy(f"{_PREFIX}{source}", lent / name)
        (lent / name).chmod(0o400)
        os.chown(lent / name, user, group)
    told = dict(expanded(one, _ROOT, unit.name).split("=", 1) for one in unit.service.get("Environment", []))
    for file in unit.service.get("EnvironmentFile", []):
        told |= environment_file(Path(f"{_PREFIX}{file}").read_text())
    if "QIRSH_OPERATORS_GROUP" in told and str(_ROOT) != "/":  # The machine does not know its name.
        told["QIRSH_OPERATORS_GROUP"] = str(operators)
    return told | {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def _words(unit: Unit) -> list[str]:
    user, group, operators = _owners()
    program, *words = unit.last("ExecStart").split()
    if os.environ.get("RESTRICTED"):
        launcher = [sys.executable, "-m", "tests.deploy.restrictions", str(_UNITS / unit.name), str(user)]
        return [*launcher, f"{group},{operators}", "--", program, *words]
    if os.getuid():
        return [f"{_PREFIX}{program}", *words]
    owners = [f"--reuid={user}", f"--regid={group}", f"--groups={group},{operators}"]
    paths = [word if not word.startswith("/") else f"{_PREFIX}{word}" for word in words]
    return ["setpriv", *owners, "--no-new-privs", f"{_PREFIX}{program}", *paths]


def _start(name: str) -> int:
    if _process(name):
        return 0
    unit = read_unit(_UNITS, name)
    told = _prepare(unit)
    log = (_PLACE / f"{name}.log").open("ab")
    with log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        address = _PLACE / f"{name}.notify"
        address.unlink(missing_ok=True)
        line.bind(str(address))
        address.chmod(0o666)
        if unit.last("Type") == "notify":
            told["NOTIFY_SOCKET"] = str(address)
        process = subprocess.Popen(
            _words(unit), env=told, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        (_PLACE / f"{name}.pid").write_text(str(process.pid))
        if unit.last("Type") == "oneshot":
            return process.wait()
        ended = os.pidfd_open(process.pid)
        try:
            while line.fileno() in select.select([line.fileno(), ended], [], [])[0]:
                if b"READY=1" in line.recv(4096).split(b"\n"):
                    return 0
        finally:
            os.close(ended)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
