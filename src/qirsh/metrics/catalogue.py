"""Every metric: its name, what kind it is, its unit, its labels, and a sentence. Nothing else gives any of them a name.

No label holds an account, an id, an address or an amount: who may see metrics need not see customers.
"""

from typing import Final

import msgspec

# Upper bounds, in seconds, and of commands in a batch.
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
COMMANDS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
# The first value of a label is for whatever is none of the others.
OTHER: Final = "other"
STATUSES: Final = (
    *(OTHER, "200", "201", "202", "204", "206", "302", "303", "304", "400", "401", "403", "404", "405", "406", "408"),
    *("409", "410", "411", "412", "413", "414", "415", "422", "428", "429", "431", "500", "501", "503", "505"),
)
# Of labels whose values are the same everywhere. Those of `route`, `code`, `policy`, `role` and `currency` come from
# where these are defined.
VALUES: Final = {
    "status": STATUSES,
    "mode": (OTHER, "live", "test"),
    "outcome": (OTHER, "created", "paid", "cancelled", "expired"),
    "result": (OTHER, "delivered", "failed"),
}


class Metric(msgspec.Struct, frozen=True):
    """One of them. Counters only grow; gauges are of this moment."""

    name: str
    kind: str  # "counter", "gauge" or "histogram".
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()  # Of a histogram.


def _counter(name: str, help_text: str, *labels: str) -> Metric:
    return Metric(name, "counter", help_text, labels)


def _gauge(name: str, help_text: str, *labels: str) -> Metric:
    return Metric(name, "gauge", help_text, labels)


# Of each process, in the memory that they share.
REQUESTS: Final = _counter("qirsh_requests", "Requests that were answered.", "route", "status")
REQUEST_SECONDS: Final = Metric(
    "qirsh_request_seconds", "histogram", "Time from a whole request to its answer.", ("route",), SECONDS
)
CONNECTIONS: Final = _gauge("qirsh_connections", "Open connections of clients.")
REFUSALS: Final = _counter("qirsh_refusals", "Requests that were refused, by the code of the problem.", "code")
RATE_LIMITED: Final = _counter("qirsh_rate_limited", "Requests that a rate limit refused, by its policy.", "policy")
QUEUE: Final = _gauge("qirsh_queue_commands", "Commands that wait for their batch.")
BATCH_COMMANDS: Final = Metric(
    "qirsh_batch_commands", "histogram", "Commands in a batch that was committed.", (), COMMANDS
)
BATCH_SECONDS: Final = Metric(
    "qirsh_batch_seconds", "histogram", "Time from a batch's start to its durable commit.", (), SECONDS
)
COMMITS: Final = _counter("qirsh_commits", "Batches that were committed.")
RERUNS: Final = _counter(
    "qirsh_reruns", "Batches that were begun again, because others were faster or one of their commands failed."
)
UNKNOWN_OUTCOMES: Final = _counter(
    "qirsh_unknown_outcomes", "Commands whose caller was told that the outcome is unknown."
)
DATABASE_AWAY: Final = _counter("qirsh_database_away_seconds", "Time in which the database took no writes.")
PAYMENTS: Final = _counter("qirsh_payments", "Payments by what became of them.", "outcome", "mode", "currency")
REFUNDS: Final = _counter("qirsh_refunds", "Refunds that were made.", "mode", "currency")
WEBHOOKS: Final = _counter("qirsh_webhooks", "Tries to deliver a webhook, by what came of them.", "result")
ROLES: Final = _gauge("qirsh_roles", "Processes that play a role: one for each, where all is well.", "role")
SQLITE_LOG: Final = _gauge("qirsh_sqlite_log_bytes", "Size of SQLite's write-ahead log.")
SQLITE_CHECKPOINTS: Final = _gauge(
    "qirsh_sqlite_checkpoint_number", "A number that changes whenever SQLite's log begins anew."
)
POSTGRES_CONNECTIONS: Final = _gauge("qirsh_postgres_connections", "Open connections to PostgreSQL.")
CPU: Final = _counter("qirsh_cpu_seconds", "Processor time of the serving processes.")
MEMORY: Final = _gauge("qirsh_memory_bytes", "Resident memory of the serving processes.")
DESCRIPTORS: Final = _gauge("qirsh_descriptors", "Open file descriptors of the serving processes.")
PROCESSES: Final = _gauge("qirsh_processes", "Serving processes.")

KEPT: Final = (
    # Gauges first: they end with their process, and are cleared in one piece.
    *(CONNECTIONS, QUEUE, ROLES, SQLITE_LOG, SQLITE_CHECKPOINTS, POSTGRES_CONNECTIONS, MEMORY, DESCRIPTORS, PROCESSES),
    *(REQUESTS, REQUEST_SECONDS, REFUSALS, RATE_LIMITED, BATCH_COMMANDS, BATCH_SECONDS, COMMITS, RERUNS),
    *(UNKNOWN_OUTCOMES, DATABASE_AWAY, PAYMENTS, REFUNDS, WEBHOOKS, CPU),
)

# Of the whole service, asked for when somebody looks.
INFO: Final = _gauge("qirsh_info", "Always 1: which version serves, on which database.", "version", "engine")
READY: Final = _gauge("qirsh_ready", "1 while payments can be taken, as /readyz says it.")
MONEY_STOPPED: Final = _gauge("qirsh_money_stopped", "1 while money stands still.")
AUDITED: Final = _gauge("qirsh_audited_timestamp_seconds", "When the ledger auditor last wrote down what it saw.")
UNSEALED: Final = _gauge("qirsh_unsealed_seconds", "Age of the oldest entry that no seal covers yet.")
WAITING: Final = _gauge("qirsh_waiting", "What waits for a worker: mails, webhooks, seals and others.", "worker")
WAITING_SECONDS: Final = _gauge("qirsh_waiting_seconds", "Age of the oldest that waits for a worker.", "worker")
STANDBYS: Final = _gauge("qirsh_postgres_standbys", "Standbys whose word a commit waits for.")
BACKUP: Final = _gauge("qirsh_backup_timestamp_seconds", "When the last good backup of this data directory was taken.")
BACKUP_VIOLATIONS: Final = _gauge("qirsh_backup_violations", "Rows that broke a rule when the last backup was taken.")
CERTIFICATE: Final = _gauge("qirsh_certificate_end_timestamp_seconds", "When the certificate of the base URL ends.")

ASKED: Final = (
    *(INFO, READY, MONEY_STOPPED, AUDITED, UNSEALED, WAITING, WAITING_SECONDS, STANDBYS),
    *(BACKUP, BACKUP_VIOLATIONS, CERTIFICATE),
)
