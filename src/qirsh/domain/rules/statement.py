"""A business is told of each month's statement once."""

from typing import Final

from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.statement_notice import StatementNotice
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def announce_locks(command: AnnounceStatement, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.statement_notices.add(command.account)
    keys.accounts.add(command.account)


def announce(command: AnnounceStatement, work: UnitOfWork) -> bool:
    account, notice = work.accounts.get(command.account), work.statement_notices.get(command.account)
    if account is None or (account.kind, account.mode) != ("commercial", "live") or why_not_acting(work, account):
        return False
    if notice is not None and notice.month >= command.month:
        return False
    work.statement_notices.put(account.number, StatementNotice(account.number, command.month))
    work.post(command.letters)
    return True


RULES: Final[Rules] = {AnnounceStatement: Rule(announce, lock=announce_locks)}
