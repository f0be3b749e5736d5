"""Files of the bank come in and are taken back, and their lines are matched with bank orders. No money moves."""

from typing import Final

import msgspec

from qirsh.domain.bank_order import CORRECTIONS
from qirsh.domain.bank_statement import (
    BankLine,
    BankMatch,
    BankStatement,
    BankStatementLine,
    HouseBankFormat,
    How,
    is_being_loaded,
    is_shown_by,
)
from qirsh.domain.commands.bank_statement import (
    AddBankLines,
    BeginBankStatement,
    FinishBankStatement,
    MatchBankLine,
    MatchBankLines,
    NewBankLine,
    Pair,
    RemoveBankLines,
    SetBankFormat,
    UndoBankStatement,
    UnmatchBankLine,
)
from qirsh.domain.limits import BANK_LINES_AT_ONCE
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork

_NAMED_MAX: Final = 20  # References that one audit entry names.


def format_locks(command: SetBankFormat, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.house)
    keys.bank_formats.add(command.house)


def set_format(command: SetBankFormat, work: UnitOfWork) -> HouseBankFormat | Refused:
    if not _has_bank(work, command.house):
        return Refused(Refusal.NOT_FOUND)
    kept = HouseBankFormat(command.house, command.format, command.operator, work.now)
    work.bank_formats.put(command.house, kept)
    work.note(command.actor, "bank_format.changed", f"account {command.house}")
    return kept


def begin_locks(command: BeginBankStatement, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.house)
    keys.bank_statements.add(command.id)


def begin(command: BeginBankStatement, work: UnitOfWork) -> BankStatement | Refused:
    if not _has_bank(work, command.house):
        return Refused(Refusal.NOT_FOUND)
    assert command.lines > 0
    assert command.first_day <= command.last_day
    before = work.bank_statements.get(command.id)
    if before is not None:  # The same form again.
        is_same = (before.house, before.digest) == (command.house, command.digest)
        return before if is_same else Refused(Refusal.NOT_FOUND)
    statement = BankStatement(
        id=command.id,
        house=command.house,
        name=command.name,
        digest=command.digest,
        imported_by=command.operator,
        imported_at=work.now,
        first_day=command.first_day,
        last_day=command.last_day,
        lines=command.lines,
        closing=command.closing,
        time_zone=command.time_zone,
    )
    work.bank_statements.add(statement.id, statement)
    work.note(command.actor, "bank_statement.begun", f"account {statement.house}", _told(statement))
    return statement


def add_locks(command: AddBankLines, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_statements.add(command.statement)
    keys.bank_lines.update((command.house, line.digest) for line in command.lines)
    keys.bank_statement_lines.update((command.statement, line.digest) for line in command.lines)


def add_lines(command: AddBankLines, work: UnitOfWork) -> int | Refused:
    assert len(command.lines) <= BANK_LINES_AT_ONCE
    statement = work.bank_statements.get(command.statement)
    if statement is None or statement.house != command.house:
        return Refused(Refusal.NOT_FOUND)
    if statement.state != "loading":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    new = stored = 0
    for line in command.lines:
        if work.bank_statement_lines.get((statement.id, line.digest)) is not None:
            continue  # Sent again.
        new += _add_line(work, statement, line)
        stored += 1
        work.bank_statement_lines.add(
            (statement.id, line.digest), BankStatementLine(statement.id, line.digest, statement.house, line.number)
        )
    _change(work, statement, stored=statement.stored + stored)
    return new


def _add_line(work: UnitOfWork, statement: BankStatement, line: NewBankLine) -> bool:
    key = (statement.house, line.digest)
    before = work.bank_lines.get(key)
    if before is not None:
        work.bank_lines.change(key, msgspec.structs.replace(before, files=before.files + 1))
        return False
    work.bank_lines.add(
        key,
        BankLine(
            house=statement.house,
            digest=line.digest,
            day=line.day,
            amount=line.amount,
            currency=line.currency,
            reference=line.reference,
            text_sealed=line.text_sealed,
            added_at=work.now,
        ),
    )
    return True


def statement_locks(command: FinishBankStatement | UndoBankStatement, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_statements.add(command.id)


def finish(command: FinishBankStatement, work: UnitOfWork) -> BankStatement | Refused:
    statement = work.bank_statements.get(command.id)
    if statement is None:
        return Refused(Refusal.NOT_FOUND)
    if statement.state == "imported":  # Sent again.
        return statement
    if statement.state != "loading" or statement.stored != statement.lines:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    finished = _change(work, statement, state="imported")
    work.note(command.actor, "bank_statement.imported", f"account {finished.house}", _told(finished))
    return finished


def undo(command: UndoBankStatement, work: UnitOfWork) -> BankStatement | Refused:
    statement = work.bank_statements.get(command.id)
    if statement is None:
        return Refused(Refusal.NOT_FOUND)
    if statement.state == "undone":  # Begun before, and perhaps not finished.
        return statement if statement.stored else Refused(Refusal.ALREADY_DECIDED)
    if is_being_loaded(statement, work.now):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    undone = _change(work, statement, state="undone")
    work.note(command.actor, "bank_statement.undone", f"account {undone.house}", _told(undone))
    return undone


def remove_locks(command: RemoveBankLines, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_statements.add(command.statement)
    for line in command.lines:
        keys.bank_lines.add((command.house, line.digest))
        keys.bank_statement_lines.add((command.statement, line.digest))
        if line.matched is not None:
            keys.bank_matches.add((command.house, line.matched))
        if line.other is not None:
            keys.bank_statements.add(line.other)
            keys.bank_statement_lines.add((line.other, line.digest))


def remove_lines(command: RemoveBankLines, work: UnitOfWork) -> int | Refused:
    assert len(command.lines) <= BANK_LINES_AT_ONCE
    statement = work.bank_statements.get(command.statement)
    if statement is None or statement.house != command.house:
        return Refused(Refusal.NOT_FOUND)
    if statement.state != "undone":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    removed = 0
    ended: list[str] = []
    for gone in command.lines:
        line = work.bank_lines.get((command.house, gone.digest))
        if work.bank_statement_lines.get((statement.id, gone.digest)) is None or line is None:
            continue  # Sent again.
        if line.matched != gone.matched:
            continue  # Matched or unmatched since it was looked at: looked at again, it goes.
        if line.matched is not None and not _counts(work, gone.other, gone.digest):
            ended.append(line.matched)
            line = _unmatched(work, line)
        work.bank_statement_lines.remove((statement.id, gone.digest))
        if line.files == 1:
            work.bank_lines.remove((line.house, line.digest))
        else:
            work.bank_lines.change((line.house, line.digest), msgspec.structs.replace(line, files=line.files - 1))
        removed += 1
    _change(work, statement, stored=statement.stored - removed)
    if ended:
        named = ", ".join(ended[:_NAMED_MAX]) + (", ..." if len(ended) > _NAMED_MAX else "")
        detail = f"{statement.id}, {len(ended)}: {named}"
        work.note(command.actor, "bank_line.unmatched", f"account {statement.house}", detail)
    return len(ended)


def match_locks(command: MatchBankLine | MatchBankLines, _work: UnitOfWork, keys: RowKeys) -> None:
    for pair in command.pairs if isinstance(command, MatchBankLines) else (command.pair,):
        keys.bank_orders.add((command.house, pair.reference))
        keys.bank_statements.add(pair.statement)
        keys.bank_lines.add((command.house, pair.line))
        keys.bank_statement_lines.add((pair.statement, pair.line))
        keys.bank_matches.add((command.house, pair.reference))


def match_lines(command: MatchBankLines, work: UnitOfWork) -> int:
    assert len(command.pairs) <= BANK_LINES_AT_ONCE
    done = 0
    for pair in command.pairs:
        line = work.bank_lines.get((command.house, pair.line))
        if _why_not(work, command.house, pair) is None and line is not None and line.reference == pair.reference:
            _match(work, command, pair, "auto")
            done += 1
    if done:
        work.note(command.actor, "bank_line.matched", f"account {command.house}", f"{done} by their references")
    return done


def match_line(command: MatchBankLine, work: UnitOfWork) -> BankMatch | Refused:
    pair = command.pair
    before = work.bank_matches.get((command.house, pair.reference))
    if before is not None and before.line == pair.line:  # The same form again.
        return before
    if why := _why_not(work, command.house, pair):
        return Refused(why)
    matched = _match(work, command, pair, "hand")
    work.note(command.actor, "bank_line.matched", f"account {command.house}", _pair_told(matched))
    return matched


def unmatch_locks(command: UnmatchBankLine, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_lines.add((command.house, command.line))
    keys.bank_matches.add((command.house, command.reference))


def unmatch(command: UnmatchBankLine, work: UnitOfWork) -> BankMatch | Refused:
    matched = work.bank_matches.get((command.house, command.reference))
    line = work.bank_lines.get((command.house, command.line))
    if matched is None or line is None or matched.line != line.digest:
        return Refused(Refusal.NOT_FOUND)
    _unmatched(work, line)
    work.note(command.actor, "bank_line.unmatched", f"account {command.house}", _pair_told(matched))
    return matched


def _has_bank(work: UnitOfWork, house: int) -> bool:
    account = work.accounts.get(house)
    return account is not None and (account.kind, account.mode) == ("house", "live") and account.name != CORRECTIONS


def _counts(work: UnitOfWork, statement: str | None, line: bytes) -> bool:
    """Whether a statement is imported, and has the line."""
    found = None if statement is None else work.bank_statements.get(statement)
    return (
        found is not None and found.state == "imported" and work.bank_statement_lines.get((found.id, line)) is not None
    )


def _why_not(work: UnitOfWork, house: int, pair: Pair) -> Refusal | None:
    line, order = work.bank_lines.get((house, pair.line)), work.bank_orders.get((house, pair.reference))
    if line is None or order is None or not _counts(work, pair.statement, pair.line):
        return Refusal.NOT_FOUND
    if line.matched is not None or work.bank_matches.get((house, pair.reference)) is not None:
        return Refusal.ALREADY_MATCHED
    return None if is_shown_by(order, line) else Refusal.LINE_DIFFERS


def _match(work: UnitOfWork, command: MatchBankLine | MatchBankLines, pair: Pair, how: How) -> BankMatch:
    line = work.bank_lines.get((command.house, pair.line))
    assert line is not None
    matched = BankMatch(command.house, pair.reference, pair.line, command.operator, work.now, how)
    work.bank_matches.add((command.house, pair.reference), matched)
    work.bank_lines.change((line.house, line.digest), msgspec.structs.replace(line, matched=pair.reference))
    return matched


def _unmatched(work: UnitOfWork, line: BankLine) -> BankLine:
    assert line.matched is not None
    work.bank_matches.remove((line.house, line.matched))
    free: BankLine = msgspec.structs.replace(line, matched=None)
    work.bank_lines.change((line.house, line.digest), free)
    return free


def _change(work: UnitOfWork, statement: BankStatement, **changes: object) -> BankStatement:
    changed: BankStatement = msgspec.structs.replace(statement, **changes)
    work.bank_statements.change(changed.id, changed)
    return changed


def _told(statement: BankStatement) -> str:
    """Without the name of the file, which may tell of people and could never be erased there."""
    return f"{statement.id}: {statement.lines} lines, {statement.first_day} to {statement.last_day}"


def _pair_told(matched: BankMatch) -> str:
    return f"{matched.reference}: line {matched.line.hex()[:16]}"


def _by_treasury(rule: Rule) -> Rule:
    return by_operator(rule, OperatorRight.MATCH_BANK)


RULES: Final[Rules] = {
    SetBankFormat: _by_treasury(Rule(set_format, lock=format_locks)),
    BeginBankStatement: _by_treasury(Rule(begin, lock=begin_locks)),
    AddBankLines: _by_treasury(Rule(add_lines, lock=add_locks)),
    FinishBankStatement: _by_treasury(Rule(finish, lock=statement_locks)),
    UndoBankStatement: _by_treasury(Rule(undo, lock=statement_locks)),
    RemoveBankLines: _by_treasury(Rule(remove_lines, lock=remove_locks)),
    MatchBankLines: _by_treasury(Rule(match_lines, lock=match_locks)),
    MatchBankLine: _by_treasury(Rule(match_line, lock=match_locks)),
    UnmatchBankLine: _by_treasury(Rule(unmatch, lock=unmatch_locks)),
}
