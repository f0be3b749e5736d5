"""A developer's shell: the variables with which commands reach a demo, and `qirsh listen` while it runs."""

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.program import House, Running


class Shell:
    """Of the demo's shop."""

    def __init__(self, house: House, url: str) -> None:
        self.house = house
        self.url = url
        self.key: str = house.demo()["testApiKey"]

    @property
    def variables(self) -> dict[str, str]:
        return {"QIRSH_BASE_URL": self.url, "QIRSH_API_KEY": self.key}

    def trigger(self, kind: str, *words: str) -> tuple[str, str]:
        """The ids of the payment and of the event."""
        ended = self.house.invoke("trigger", kind, *words, **self.variables)
        assert ended.returncode == 0, ended.stderr
        payment, event = re.findall(r"^  \w+ +(\S+)$", ended.stdout, re.MULTILINE)
        return payment, event

    def body_of(self, event: str) -> bytes:
        """As GET shows it."""
        request = urllib.request.Request(  # noqa: S310 - our own
            f"{self.url}/api/v1/events/{event}", headers={"Authorization": f"Bearer {self.key}"}
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own
            content: bytes = answer.read()
        return content

    @contextmanager
    def listening(self, *words: str) -> Iterator["Listening"]:
        """From the moment on at which nothing is missed any more."""
        variables = {"QIRSH_BASE_URL": self.url, "QIRSH_API_KEY": self.key}
        with self.house.serving("listen", *words, until="whsec_", is_afresh=False, umask=-1, **variables) as running:
            yield Listening(running)


class Listening:
    """`qirsh listen`."""

    def __init__(self, running: Running) -> None:
        self.process = running.process
        self.printed = running.printed
        self.stop = running.stop
        found = re.search(r"whsec_\S+", running.printed)
        assert found, running.printed
        self.secret = found.group()

    def line(self) -> str:
        """The next one that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def notice(self) -> str:
        """The next one about the service."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def rest(self) -> tuple[str, str]:
        """What it printed until its end."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return self.process.stdout.read(), self.process.stderr.read()
