"""Where payments are found by what they hold is filled in, each run of payments once."""

from typing import Final

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.payment_index import IndexedBlock
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def index_locks(command: IndexPayments, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.indexed_blocks.add(command.block)


def index(command: IndexPayments, work: UnitOfWork) -> bool:
    block = work.indexed_blocks.get(command.block) or IndexedBlock(command.block, command.block - 1)
    if block.until != command.after:
        return False  # Another process was here, and goes on from there.
    work.indexed_blocks.put(command.block, IndexedBlock(command.block, command.until))
    if command.words:
        work.payment_words += command.words
    return True


RULES: Final[Rules] = {
    IndexPayments: Rule(index, lock=index_locks),
}
