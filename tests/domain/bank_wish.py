"""What is asked for about statements of the bank, as Hypothesis strategies. `wish` mixes it with the rest."""

from typing import Any, Final

from hypothesis import strategies as st

from qirsh.domain.bank_file import FileLine
from qirsh.domain.bank_statement import line_digest
from qirsh.domain.commands.bank_statement import (
    AddBankLines,
    BeginBankStatement,
    FinishBankStatement,
    GoneLine,
    MatchBankLine,
    MatchBankLines,
    Pair,
    RemoveBankLines,
    SetBankFormat,
    UndoBankStatement,
    UnmatchBankLine,
)
from tests.domain.bank_cases import FEE, LINES, OTHER, SLIP, imported, matching, on_its_way
from tests.domain.market import Market

Wishes = st.SearchStrategy[Any]
_FILES: Final = ("bs_settled", "bs_0", "bs_1")


def settle_bank(market: Market) -> None:
    """One file that is there, with a line that is matched."""
    imported(market, SLIP, OTHER, FEE, statement="bs_settled")
    market.do(matching(market, statement="bs_settled"))


def about_bank(market: Market) -> list[Wishes]:
    """Files of a few lines, so that they overlap, and cross each other at every step."""
    operators = st.sampled_from([market.first.id, market.second.id, market.customer.id])
    houses = st.sampled_from([*[market.house] * 6, market.shop])
    files, lines = st.sampled_from(_FILES), st.sampled_from(LINES)
    references = st.sampled_from(["slip 0", "slip 0", "slip 1", "slip 2"])
    actor = st.just("test")
    digests = lines.map(line_digest)
    pairs = st.builds(Pair, line=digests, statement=files, reference=references)
    gone = st.builds(
        GoneLine,
        digest=digests,
        matched=st.sampled_from([None, "slip 0", "slip 1"]),
        other=st.sampled_from([None, *_FILES]),
    )
    some = st.lists(lines, max_size=3, unique=True).map(lambda drawn: tuple(map(on_its_way, drawn)))
    few = st.lists(gone, max_size=3, unique_by=lambda line: line.digest).map(tuple)
    return [
        st.builds(SetBankFormat, house=houses, format=st.just("{}"), operator=operators, actor=actor),
        st.builds(
            BeginBankStatement,
            id=files,
            house=houses,
            name=st.just("file.csv"),
            digest=st.just(bytes(32)),
            first_day=st.just(SLIP.day),
            last_day=st.just(FEE.day),
            lines=st.sampled_from([1, 2, 3]),
            closing=st.just("{}"),
            time_zone=st.just("UTC"),
            operator=operators,
            actor=actor,
        ),
        st.builds(AddBankLines, statement=files, house=houses, lines=some, operator=operators, actor=actor),
        st.builds(FinishBankStatement, id=files, operator=operators, actor=actor),
        st.builds(UndoBankStatement, id=files, operator=operators, actor=actor),
        st.builds(RemoveBankLines, statement=files, house=houses, lines=few, operator=operators, actor=actor),
        st.builds(
            MatchBankLines, house=houses, pairs=st.lists(pairs, max_size=2).map(tuple), operator=operators, actor=actor
        ),
        st.builds(MatchBankLine, house=houses, pair=pairs, operator=operators, actor=actor),
        st.builds(UnmatchBankLine, house=houses, reference=references, line=digests, operator=operators, actor=actor),
    ]


def equal_lines(line: FileLine, count: int) -> tuple[FileLine, ...]:
    """The same line some times, as one file has it."""
    return tuple(
        FileLine(line.number + each, line.day, line.amount, line.currency, line.reference, line.text, each + 1)
        for each in range(count)
    )
