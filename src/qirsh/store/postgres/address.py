"""Which hosts an address names. Without the driver, which takes longer to load than all that settings need."""

import re
from typing import NamedTuple
from urllib.parse import parse_qs, unquote


class Host(NamedTuple):
    """One of those that an address names."""

    name: str  # Or the folder of its socket.
    port: int | None  # None: the usual one.

    def __str__(self) -> str:
        """As an address has it."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port is None else f"{name}:{self.port}"


def hosts_of(url: str) -> list[Host]:
    """Those that the address names, in its order; none where it leaves that to the driver."""
    _, named, rest = parts_of(url)
    if named:
        return [_host(text) for text in named.split(",")]
    query = parse_qs(rest.partition("?")[2])
    hosts = [_host(text) for text in query.get("host", [""])[-1].split(",") if text]
    ports = [int(port) for port in query.get("port", [""])[-1].split(",") if port]
    if len(ports) == 1:
        ports *= len(hosts)
    return [Host(host.name, port) for host, port in zip(hosts, ports, strict=True)] if ports else hosts


def parts_of(url: str) -> tuple[str, str, str]:
    """What comes before the hosts, the hosts, and the rest. `urlsplit` refuses an IPv6 address behind a comma."""
    [found] = re.findall(r"^([a-z]+://(?:[^/?#]*@)?)([^/?#]*)(.*)$", url, re.DOTALL)
    before, hosts, rest = found
    return before, hosts, rest


def _host(text: str) -> Host:
    if text.startswith("["):
        name, _, port = text[1:].partition("]")
    elif text.startswith("/"):
        name, port = text, ""
    else:
        name, _, port = text.partition(":")
    port = port.removeprefix(":")
    return Host(unquote(name), int(port) if port else None)
