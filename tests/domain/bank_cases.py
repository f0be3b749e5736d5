"""A file of the bank on its way in: of each command about it one that is carried out, and every way to spoil it."""

from typing import Any, Final

import msgspec

from qirsh.domain.bank_file import FileLine
from qirsh.domain.bank_statement import line_digest
from qirsh.domain.commands.bank_statement import (
    AddBankLines,
    BeginBankStatement,
    FinishBankStatement,
    GoneLine,
    MatchBankLine,
    MatchBankLines,
    NewBankLine,
    Pair,
    RemoveBankLines,
    SetBankFormat,
    UndoBankStatement,
    UnmatchBankLine,
)
from qirsh.domain.refusal import Refusal
from tests.domain.market import HELD, NOBODY, Market

R = Refusal
# The market's deposits, as the bank tells of them: the first has its order's reference, and the other a text.
SLIP: Final = FileLine(5, "2027-01-15", HELD, "USD", "slip 0", "cash at the counter")
OTHER: Final = FileLine(6, "2027-01-15", HELD, "EUR", "", "gişeden yatan")
FEE: Final = FileLine(7, "2027-01-16", -250, "USD", "", "=1+1")
LINES: Final = (SLIP, OTHER, FEE)


def on_its_way(line: FileLine) -> NewBankLine:
    """As an action hands it to the store."""
    return NewBankLine(
        digest=line_digest(line),
        number=line.number,
        day=line.day,
        amount=line.amount,
        currency=line.currency,
        reference=line.reference,
        text_sealed=b"sealed " + line.text.encode(),
    )


def beginning(market: Market, **changes: Any) -> BeginBankStatement:  # noqa: ANN401 - the fields of the command
    """A file of three lines."""
    fields: dict[str, Any] = {
        "id": "bs_1",
        "house": market.house,
        "name": "january.csv",
        "digest": bytes(32),
        "first_day": "2027-01-15",
        "last_day": "2027-01-16",
        "lines": len(LINES),
        "closing": '{"USD":99750}',
        "time_zone": "Asia/Damascus",
        "operator": market.first.id,
        "actor": "test",
    }
    return BeginBankStatement(**fields | changes)


def adding(market: Market, *lines: FileLine, statement: str = "bs_1") -> AddBankLines:
    """Lines of it."""
    return AddBankLines(statement, market.house, tuple(map(on_its_way, lines)), market.first.id, "test")


def imported(market: Market, *lines: FileLine, statement: str = "bs_1") -> None:
    """A file that is there, with all its lines."""
    lines = lines or LINES
    market.do(beginning(market, id=statement, lines=len(lines)))
    market.do(adding(market, *lines, statement=statement))
    market.do(FinishBankStatement(statement, market.first.id, "test"))


def matching(
    market: Market, line: FileLine = SLIP, reference: str = "slip 0", statement: str = "bs_1"
) -> MatchBankLine:
    """A line and an order, by hand."""
    return MatchBankLine(market.house, Pair(line_digest(line), statement, reference), market.first.id, "test")


def removing(market: Market, *lines: FileLine, statement: str = "bs_1", other: str | None = None) -> RemoveBankLines:
    """Lines of a file that was taken back, as they are."""
    kept = [market.bank_lines.get((market.house, line_digest(line))) for line in lines or LINES]
    gone = tuple(GoneLine(line.digest, line.matched, other) for line in kept if line is not None)
    return RemoveBankLines(statement, market.house, gone, market.first.id, "test")


def undoing(market: Market, statement: str = "bs_1") -> UndoBankStatement:
    """An operator's second thought."""
    return UndoBankStatement(statement, market.first.id, "test")


def _after_import(make: Any) -> Any:  # noqa: ANN401 - functions of a market
    def prepare(market: Market) -> Any:  # noqa: ANN401 - a command
        imported(market)
        return make(market)

    return prepare


def _begun(make: Any) -> Any:  # noqa: ANN401 - the same
    def prepare(market: Market) -> Any:  # noqa: ANN401 - the same
        market.do(beginning(market))
        return make(market)

    return prepare


def _undone(market: Market) -> RemoveBankLines:
    imported(market)
    market.do(matching(market))
    market.do(undoing(market))
    return removing(market)


def _loaded(market: Market) -> FinishBankStatement:
    market.do(beginning(market))
    market.do(adding(market, *LINES))
    return FinishBankStatement("bs_1", market.first.id, "test")


def _matched(market: Market) -> UnmatchBankLine:
    imported(market)
    market.do(matching(market))
    return UnmatchBankLine(market.house, "slip 0", line_digest(SLIP), market.first.id, "test")


def _state(state: str, **changes: Any) -> Any:  # noqa: ANN401 - columns of the row
    return lambda case: case.market.change("bank_statements", "bs_1", state=state, **changes)


def _match_otherwise(case: Any) -> None:  # noqa: ANN401 - `test_decide_precedence` has the class
    case.market.change("bank_lines", (case.market.house, case.command.pair.line), matched="another")


def _differ(case: Any) -> None:  # noqa: ANN401 - the same
    case.market.change("bank_lines", (case.market.house, case.command.pair.line), amount=-HELD)


def _point_nowhere(case: Any) -> None:  # noqa: ANN401 - the same
    case.ask(pair=msgspec.structs.replace(case.command.pair, reference="no such slip"))


BANK_CASES: Final[dict[Any, Any]] = {
    SetBankFormat: (
        lambda market: SetBankFormat(market.house, "{}", market.first.id, "test"),
        {R.NOT_FOUND: lambda case: case.ask(house=case.market.mint)},
    ),
    BeginBankStatement: (beginning, {R.NOT_FOUND: lambda case: case.ask(house=case.market.shop)}),
    AddBankLines: (
        _begun(lambda market: adding(market, *LINES)),
        {R.MOVE_NOT_ALLOWED: _state("undone"), R.NOT_FOUND: lambda case: case.ask(statement="bs_404")},
    ),
    FinishBankStatement: (
        _loaded,
        {R.MOVE_NOT_ALLOWED: _state("loading", stored=2), R.NOT_FOUND: lambda case: case.ask(id="bs_404")},
    ),
    UndoBankStatement: (
        _after_import(undoing),
        {
            R.MOVE_NOT_ALLOWED: _state("loading"),
            R.ALREADY_DECIDED: _state("undone", stored=0),
            R.NOT_FOUND: lambda case: case.ask(id="bs_404"),
        },
    ),
    RemoveBankLines: (
        _undone,
        {R.MOVE_NOT_ALLOWED: _state("imported"), R.NOT_FOUND: lambda case: case.ask(house=NOBODY)},
    ),
    MatchBankLines: (
        _after_import(
            lambda market: MatchBankLines(market.house, (matching(market).pair,), market.first.id, "test"),
        ),
        {},
    ),
    MatchBankLine: (
        _after_import(lambda market: matching(market, OTHER, "slip 1")),
        {R.ALREADY_MATCHED: _match_otherwise, R.LINE_DIFFERS: _differ, R.NOT_FOUND: _point_nowhere},
    ),
    UnmatchBankLine: (_matched, {R.NOT_FOUND: lambda case: case.ask(reference="slip 1")}),
}
