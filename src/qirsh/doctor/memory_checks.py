"""What this machine remembers of the chain of seals, and whether the database still has it."""

import os
from datetime import UTC, datetime

from qirsh.doctor.database_probe import has_begun, probe
from qirsh.doctor.doctor_check import Finding
from qirsh.engine.chain_memory import WHAT_TO_DO, ChainMemory, fingerprint, set_back
from qirsh.settings import Settings
from qirsh.store.reads.chain_state import read_state, state_query


def memory(settings: Settings) -> Finding:
    """Without it, a database that was set back is served as if nothing had happened."""
    kept = ChainMemory(settings.data_dir)
    try:
        heads = kept.heads()
    except ValueError as error:
        return Finding(
            "bad",
            f"{kept.path} cannot be read: {error}; `qirsh verify --head` compares with one that was kept elsewhere; a"
            f" server keeps this file as {kept.path_aside.name} and begins anew",
        )
    except OSError as error:
        return Finding("bad", f"{kept.path} cannot be read: {error}")
    if settings.data_dir.is_dir() and not os.access(settings.data_dir, os.W_OK):
        return Finding("bad", f"{settings.data_dir} cannot be written: how far the chain went is not remembered")
    state = read_state(probe(settings, state_query(head.number for head in heads))) if has_begun(settings) else None
    if state is None:
        return Finding("note", "there is nothing to remember yet")
    seen = next((head for head in heads if head.database == fingerprint(state)), None)
    if seen is None or state.epoch > seen.epoch:
        return Finding("note", "nothing of this database is remembered yet; a server does it within seconds")
    if (how := set_back(seen, state)) is not None:
        return Finding("bad", f"{how}; {WHAT_TO_DO}")
    at = datetime.fromtimestamp(seen.seen_at / 1000, UTC)
    return Finding("ok", f"seal {seen.number}, seen on {at:%Y-%m-%d %H:%M:%S} UTC, is in the chain")
