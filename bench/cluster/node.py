"""How one node of the cluster is set up: what stands in its Patroni's file."""

from pathlib import Path
from typing import Any, Final

import msgspec

SCOPE: Final = "qirsh"
# Patroni's shortest. For so long a leader may be silent before another takes its place.
TTL_S: Final = 20
# What all nodes agree on, in etcd.
_AGREED: Final[dict[str, Any]] = {
    "ttl": TTL_S,
    "loop_wait": 1,
    "retry_timeout": 3,
    # A leader whose server has died is not waited for: another takes its place.
    "primary_start_timeout": 0,
    # A commit is acknowledged when one of the standbys has it too,
    "synchronous_mode": "quorum",
    # and when there is none, none is acknowledged.
    "synchronous_mode_strict": True,
    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100}},
}


class Node(msgspec.Struct, frozen=True):
    """One of the three."""

    number: int
    rest: str  # Where its Patroni listens, as host:port,
    sql: str  # and its PostgreSQL.

    @property
    def name(self) -> str:
        """As Patroni and etcd know it."""
        return f"n{self.number}"


def configuration(node: Node, *, folder: Path, binaries: Path, etcd: str, password: str) -> dict[str, Any]:
    """JSON is YAML."""
    users = {"superuser": "postgres", "replication": "replication", "rewind": "rewind"}
    return {
        "scope": SCOPE,
        "name": node.name,
        "etcd3": {"hosts": etcd},
        "restapi": {"listen": node.rest, "connect_address": node.rest},
        "bootstrap": {"dcs": _AGREED, "initdb": [{"encoding": "UTF8"}, "no-locale", "data-checksums"]},
        "postgresql": {
            "listen": node.sql,
            "connect_address": node.sql,
            "data_dir": str(folder / node.name),
            "bin_dir": str(binaries),
            "pgpass": str(folder / f"pgpass-{node.name}"),
            "parameters": {"unix_socket_directories": ""},
            "authentication": {kind: {"username": user, "password": password} for kind, user in users.items()},
            "pg_hba": [f"host {database} all 127.0.0.1/32 scram-sha-256" for database in ("all", "replication")],
        },
    }
