"""The machine once more, with an /etc, /opt, /run, /var and /usr/local of its own: what is written there is forgotten.

So that an installation has the paths that its units name, and the machine itself is left alone. Takes root.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.deploy.installation import INSTALL, clean_environment, write_systemctl

_PATIENCE_S: Final = 900
_MAKE: Final = """
set -e
mount --make-rprivate /
for folder in /etc /opt /usr/local /var; do
    upper="$1/upper$folder" work="$1/work$folder"
    mkdir -p "$upper" "$work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$upper,workdir=$work" "$folder"
done
mount -t tmpfs -o mode=755 tmpfs /run
echo made
exec sleep infinity
"""


class PrivateMachine:
    """Programs of it see its files; the network is that of the machine."""

    def __init__(self, process: int, folder: Path) -> None:
        self._process = process
        self.files = Path(f"/proc/{process}/root")  # As seen from outside.
        self._systemctl = write_systemctl(folder / "systemctl")

    def attempt(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A program, to its end, whatever that is."""
        return subprocess.run(
            ["nsenter", "--mount", "--pid", f"--target={self._process}", "--", *words],
            env=clean_environment() | {"RESTRICTED": "1", "SYSTEMCTL": str(self._systemctl)} | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )

    def run(self, *words: str, **variables: str) -> str:
        """What a program prints that must end well."""
        done = self.attempt(*words, **variables)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}{self.log()}"
        return done.stdout

    def install(self, *words: str) -> str:
        """What `install.sh` says."""
        return self.run("sh", str(INSTALL), *words)

    def control(self, *words: str) -> None:
        """As `systemctl`."""
        self.run(str(self._systemctl), *words)

    def log(self) -> str:
        """What units have said."""
        files = sorted((self.files / "run/service-manager").glob("*.log"))
        return "".join(f"{file.name}:\n{file.read_text()}" for file in files)


@contextmanager
def private_machine(folder: Path) -> Iterator[PrivateMachine]:
    """All its processes end with it."""
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
    with subprocess.Popen(
        [*words, "sh", "-c", _MAKE, "sh", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stderr is not None
            assert holder.stdout.readline() == "made\n", holder.stderr.read()
            [child] = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
            yield PrivateMachine(int(child), folder)
        finally:
            holder.kill()
