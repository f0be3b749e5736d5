"""Where payments are found by their metadata is filled in, each run of payments once."""

from qirsh.domain.command import IndexMetadata
from qirsh.domain.metadata_index import IndexedBlock
from qirsh.domain.state import Needs, State


def index_needs(command: IndexMetadata, _state: State, needs: Needs) -> None:
    needs.indexed_blocks.add(command.block)


def index(command: IndexMetadata, state: State) -> bool:
    block = state.indexed_blocks.get(command.block) or IndexedBlock(command.block, command.block - 1)
    if block.until != command.after:
        return False  # Somebody else was here, and goes on from there.
    state.indexed_blocks.put(command.block, IndexedBlock(command.block, command.until))
    state.metadata_entries += command.entries
    return True
