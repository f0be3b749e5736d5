"""What there is of the bank: a format, a file that counts, one that is on its way, one that was taken back, a match."""

from qirsh.domain.commands.bank_statement import SetBankFormat
from tests.domain.bank_cases import FEE, LINES, OTHER, SLIP, adding, beginning, imported, matching, removing, undoing
from tests.domain.market import Market


def fill_in_bank(world: Market) -> None:
    """The first line is matched; two files have the second; the third is left."""
    world.do(SetBankFormat(world.house, '{"encoding":"utf-8"}', world.first.id, "test"))
    imported(world, *LINES[::-1], statement="bs_1")
    world.do(matching(world, SLIP, "slip 0"))
    world.do(beginning(world, id="bs_2", name="شباط.csv", closing="{}", lines=3))
    world.do(adding(world, OTHER, statement="bs_2"))
    imported(world, FEE, statement="bs_3")
    world.do(undoing(world, "bs_3"))
    world.do(removing(world, FEE, statement="bs_3"))
