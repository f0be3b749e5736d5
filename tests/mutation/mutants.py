"""Ways to break the rules that guard money, one line of source each. `make mutants` makes them, and a test must notice.

A mutant is a text that stands exactly once in its file, and what takes its place. When the source changes, so does the
line here: a mutant whose text is gone fails the run.
"""

from typing import Final, NamedTuple


class Mutant(NamedTuple):
    file: str  # Below src/qirsh.
    before: str
    after: str


class Group(NamedTuple):
    """Mutants of one concern, and the tests of `make test` that must notice them, the quickest first."""

    name: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


_LEDGER = "domain/ledger.py"
_PAYMENT = "domain/payment.py"
_PAY = "domain/rules/payment.py"
_REFUND = "domain/rules/refund.py"
_PAYOUT = "domain/rules/payout.py"
_PIN = "domain/rules/credentials.py"
_BATCH = "domain/batch.py"
_BATCHER = "engine/batcher.py"
_SQLITE = "store/migrations/0001_spine.sqlite.sql"
_POSTGRES = "store/migrations/0001_spine.postgres.sql"

GROUPS: Final = (
    Group(
        "ledger",
        (
            "tests/domain/test_ledger.py",
            "tests/domain/test_decide_payment.py",
            "tests/domain/test_decide_refund.py",
            "tests/domain/test_rules.py",
            "tests/domain",
            "tests/web/api/test_refunds.py",
        ),
        (
            Mutant(_LEDGER, "debit.amount - debit.held < amount and not", "debit.amount < amount and not"),
            Mutant(
                _LEDGER, "debit.amount - debit.held < amount and not", "debit.amount - debit.held <= amount and not"
            ),
            Mutant(_LEDGER, "< amount and not debit.is_house", "< amount and debit.is_house"),
            Mutant(_LEDGER, "credit.amount + amount > BALANCE_MAX", "credit.amount > BALANCE_MAX"),
            Mutant(_LEDGER, "debit.amount - amount < -BALANCE_MAX", "debit.amount < -BALANCE_MAX"),
            Mutant(_LEDGER, "        balance.sequence + 1,\n", "        balance.sequence,\n"),
            Mutant(
                _LEDGER,
                "moved(debit, -amount), moved(credit, amount)",
                "moved(debit, -amount), moved(credit, amount - 1)",
            ),
            Mutant(_LEDGER, "credit_balance=credited.amount", "credit_balance=credit.amount"),
            Mutant(
                _LEDGER, "        balance.is_house,\n        balance.held,\n", "        balance.is_house,\n        0,\n"
            ),
            Mutant(
                "domain/rules/money.py",
                "    work.balances.put((credited.account, credited.currency), credited)\n",
                "",
            ),
            Mutant("domain/rules/money.py", "    work.transfers.append(transfer)\n", ""),
        ),
    ),
    Group(
        "payments",
        (
            "tests/domain/test_payment.py",
            "tests/domain/test_decide_payment.py",
            "tests/domain/test_decide_pin.py",
            "tests/domain",
            "tests/web/api/test_remote_payments.py",
            "tests/web/api/test_wallet.py",
        ),
        (
            Mutant(_PAYMENT, "return now >= payment.expires_at", "return now > payment.expires_at"),
            Mutant(_PAYMENT, 'if payment.status != "pending":', 'if payment.status == "cancelled":'),
            Mutant(_PAYMENT, 'now if to == "paid" else None', "now"),
            Mutant(_PAYMENT, "        payment.version + 1,\n    )\n", "        payment.version,\n    )\n"),
            Mutant(_PAY, 'payer.kind != "personal" or payer.owner', "payer.owner"),
            Mutant(_PAY, " or payer.owner != command.person:", ":"),
            Mutant(
                _PAY,
                "        why_not_acting(work, payer)\n        or payment.why_not_payable",
                "        payment.why_not_payable",
            ),
            Mutant(_PAY, "        or payment.why_not_payable(found, work.now)\n", ""),
            Mutant(_PAY, "payer.live_account != merchant.live_account:", "False:"),
            Mutant(_PAY, "return Refusal.MERCHANT_SUSPENDED if", "return None if"),
            Mutant(_PAY, "    if refused:\n        return refused\n    return post_pay", "    return post_pay"),
            Mutant(
                _PAY,
                "    if why := ledger.why_not(debit, credit, found.amount):\n        return Refused(why)\n    move(",
                "    move(",
            ),
            Mutant(
                _PAY, "    if not payment.is_due(found, work.now):\n        return Refused(Refusal.NOT_EXPIRED)\n", ""
            ),
            Mutant(_PAY, "merchant is None or found.merchant != command.merchant:", "merchant is None:"),
            Mutant(_PAY, "read_first=pay_reads, moves_money=True", "read_first=pay_reads"),
            Mutant(_PAY, "    keys.balances.add((found.merchant, found.currency))\n", ""),
            Mutant(
                _PAY, "sequence = (counter.last if counter else 0) + 1", "sequence = counter.last if counter else 1"
            ),
            Mutant(_PIN, "pin.mac, pin.failures + 1)", "pin.mac, pin.failures)"),
            Mutant(_PIN, "if pin is None or attempts_left(pin) == 0:", "if pin is None:"),
        ),
    ),
    Group(
        "refunds and payouts",
        (
            "tests/domain/test_decide_refund.py",
            "tests/domain/test_decide_payout.py",
            "tests/domain/test_payment.py",
            "tests/domain",
            "tests/web/api/test_refunds.py",
        ),
        (
            Mutant(_PAYMENT, "return payment.amount - payment.refunded_amount if", "return payment.amount if"),
            Mutant(_PAYMENT, "refunded_amount=payment.refunded_amount + amount", "refunded_amount=amount"),
            Mutant(_REFUND, "if not 0 < amount <= left:", "if not 0 < amount:"),
            Mutant(_REFUND, "if not 0 < amount <= left:", "if not 0 < amount < left:"),
            Mutant(
                _REFUND,
                "merchant is None or paid.merchant != command.merchant:\n        return Refused",
                "merchant is None:\n        return Refused",
            ),
            Mutant(_REFUND, 'if payer.state == "closed":', 'if payer.state == "never":'),
            Mutant(_REFUND, ">= REFUNDS_MAX", "> REFUNDS_MAX"),
            Mutant(_REFUND, "read_first=refund_reads, moves_money=True),\n}", "read_first=refund_reads),\n}"),
            Mutant(_REFUND, "for party in (paid.merchant, paid.payer))", "for party in (paid.payer, paid.merchant))"),
            Mutant(_PAYOUT, "if funds.available < command.amount:", "if funds.amount < command.amount:"),
            Mutant(_PAYOUT, "ledger.holding(funds, -payout.amount)", "funds"),
            Mutant(
                _PAYOUT,
                '    if payout.state != "asked":\n        return Refused(Refusal.MOVE_NOT_ALLOWED)\n    cancelled',
                "    cancelled",
            ),
        ),
    ),
    Group(
        "batch and idempotency",
        (
            "tests/domain/test_decide_batch.py",
            "tests/domain/test_decide_idempotency.py",
            "tests/domain/test_idempotency.py",
            "tests/engine",
            "tests/web/api/test_idempotency.py",
            "tests/domain/test_decide_stop.py",
            "tests/web/test_races.py",
            "tests/workers/test_ledger_auditor.py",
            "tests/web/server/test_overload.py",
            "tests/workers/test_response_cleaner.py",
            "tests/cli/serve/test_set_back.py",
        ),
        (
            Mutant(_BATCH, "before.fingerprint != key.fingerprint:", "False:"),
            Mutant(_BATCH, "if before is not None and not is_expired(before, work.now):", "if before is not None:"),
            Mutant(
                _BATCH,
                "    if rule.moves_money and work.is_money_stopped:\n",
                "    if rule.moves_money and work.is_money_stopped and key is None:\n",
            ),
            Mutant(_BATCH, "rule.moves_money and work.is_money_stopped:", "False:"),
            Mutant(_BATCH, "or type(outcome) is Refused:", "or False:"),
            Mutant(_BATCH, "        work.stored_responses.put(", "        (lambda *_: None)("),
            Mutant(_BATCH, "        work.attest()\n", ""),
            Mutant(
                "domain/idempotency.py",
                "IDEMPOTENCY_KEPT_MS\n\n\ndef is_forg",
                "IDEMPOTENCY_KEPT_MS // 2\n\n\ndef is_forg",
            ),
            Mutant("domain/idempotency.py", 'b"%b %b\\n%b" % (method, path, body)', 'b"%b %b" % (method, path)'),
            Mutant(
                "domain/rules/idempotency.py", "is not None and is_forgettable(response, work.now):", "is not None:"
            ),
            Mutant(
                _BATCHER, "if not self._is_open or len(self._queue) >= QUEUE_COMMANDS_MAX:", "if not self._is_open:"
            ),
            Mutant(
                _BATCHER,
                "                await self._one_by_one(taken)\n",
                "                self._fail(taken, error)\n",
            ),
            Mutant(_BATCHER, "            if self._money_stop.set_back is not None:\n", "            if False:\n"),
            Mutant(
                _BATCHER,
                "                self.is_broken = True\n            self._fail(taken, error)",
                "                pass\n            self._fail(taken, error)",
            ),
        ),
    ),
    Group(
        "guards of SQLite",
        ("tests/store/test_schema_refuses_bad_money.py", "tests/store/sqlite", "tests/store/test_conformance.py"),
        (
            Mutant(
                _SQLITE,
                "WHEN NEW.debit_sequence = 1 THEN -NEW.amount ELSE",
                "WHEN NEW.debit_sequence = 1 THEN NEW.debit_balance ELSE",
            ),
            Mutant(_SQLITE, "        ) + NEW.amount END\n", "        ) + NEW.amount + 0 * NEW.amount END AND FALSE\n"),
            Mutant(
                _SQLITE,
                "WHERE NEW.debit_balance < 0 AND (NEW.kind NOT IN ('deposit',",
                "WHERE NEW.debit_balance < -500 AND (NEW.kind NOT IN ('deposit',",
            ),
            Mutant(_SQLITE, "number = NEW.payment AND status = 'pending'\n", "number = NEW.payment\n"),
            Mutant(_SQLITE, "AND merchant = NEW.credit AND amount = NEW.amount AND", "AND merchant = NEW.credit AND"),
            Mutant(
                _SQLITE,
                "AND merchant = NEW.debit AND payer = NEW.credit AND currency = NEW.currency\n",
                "AND merchant = NEW.debit AND currency = NEW.currency\n",
            ),
            Mutant(
                _SQLITE,
                "CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer BEGIN",
                "CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer WHEN FALSE BEGIN",
            ),
            Mutant(
                _SQLITE,
                "CREATE TRIGGER transfer_remains BEFORE DELETE ON transfer BEGIN",
                "CREATE TRIGGER transfer_remains BEFORE DELETE ON transfer WHEN FALSE BEGIN",
            ),
            Mutant(
                _SQLITE,
                "    WHERE NEW.sequence < OLD.sequence OR NEW.amount IS NOT coalesce(",
                "    WHERE NEW.amount IS NOT coalesce(",
            ),
            Mutant(
                _SQLITE,
                "WHERE OLD.status <> 'pending' AND (NEW.status <> OLD.status OR",
                "WHERE OLD.status <> 'pending' AND (",
            ),
            Mutant(_SQLITE, "    WHERE NEW.refunded_amount < OLD.refunded_amount;", "    WHERE FALSE;"),
            Mutant(_SQLITE, "AND t.payment = NEW.payment AND t.amount = NEW.amount);", "AND t.payment = NEW.payment);"),
            Mutant(_SQLITE, "    CHECK (amount >= 0 OR is_house),\n", ""),
        ),
    ),
    Group(
        "guards of PostgreSQL",
        ("tests/store/test_schema_refuses_bad_money.py", "tests/store/postgres", "tests/store/test_conformance.py"),
        (
            Mutant(
                _POSTGRES,
                "CASE WHEN t.debit_sequence = 1 THEN 0 ELSE",
                "CASE WHEN t.debit_sequence = 1 THEN t.debit_balance + t.amount ELSE",
            ),
            Mutant(
                _POSTGRES,
                "WHEN t.debit_balance < 0 AND (t.kind NOT IN ('deposit',",
                "WHEN t.debit_balance < -500 AND (t.kind NOT IN ('deposit',",
            ),
            Mutant(_POSTGRES, "(d.kind <> 'personal' OR (p.status = 'pending' AND", "(d.kind <> 'personal' OR ("),
            Mutant(_POSTGRES, "AND p.merchant = t.debit AND p.payer = t.credit\n", "AND p.merchant = t.debit\n"),
            Mutant(_POSTGRES, "    WHEN (NEW.sequence < OLD.sequence) EXECUTE", "    WHEN (FALSE) EXECUTE"),
            Mutant(
                _POSTGRES,
                "    WHEN (OLD.status <> 'pending' AND (NEW.status <> OLD.status OR",
                "    WHEN (OLD.status <> 'pending' AND (",
            ),
            Mutant(
                _POSTGRES, "    WHEN (NEW.refunded_amount < OLD.refunded_amount) EXECUTE", "    WHEN (FALSE) EXECUTE"
            ),
            Mutant(_POSTGRES, "(t.debit = p.payer AND t.credit = p.merchant\n", "(t.credit = p.merchant\n"),
            Mutant(
                _POSTGRES,
                "AND t.payment = r.payment AND t.amount = r.amount) IS NOT TRUE",
                "AND t.payment = r.payment) IS NOT TRUE",
            ),
            Mutant(
                _POSTGRES,
                "CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer FOR EACH STATEMENT",
                "CREATE TRIGGER transfer_stays BEFORE UPDATE OF id ON transfer FOR EACH STATEMENT",
            ),
            Mutant(_POSTGRES, "transfer_remains BEFORE DELETE OR TRUNCATE ON", "transfer_remains BEFORE DELETE ON"),
        ),
    ),
    Group(
        "backup",
        ("tests/backup", "tests/cli/test_backup.py", "tests/web/test_restore.py"),
        (
            Mutant("backup/files.py", "            output.flush()\n            os.fsync(output.fileno())\n", ""),
            Mutant(
                "backup/files.py",
                "        part.replace(file)\n        sync(file.parent)\n",
                "        part.replace(file)\n",
            ),
            Mutant(
                "backup/files.py",
                "    removed = whole[:-keep]\n",
                "    removed = whole[: -keep + 1] if keep > 1 else whole\n",
            ),
            Mutant(
                "backup/move.py", "        if digest_of(copied, table) != digests[table.name]:\n", "        if False:\n"
            ),
            Mutant(
                "backup/move.py",
                "    if sums_of(copied) != sums_of(source) or head_of(copied) != head_of(source):\n",
                "    if False:\n",
            ),
            Mutant(
                "backup/move.py",
                "        old.mark({MOVED_BY: _ticket(_ticket_of(path)).encode(), MOVED: shown.encode()})\n",
                "",
            ),
            Mutant("backup/restore.py", "sums_of(target) != manifest.sums or ", ""),
            Mutant("backup/restore.py", " or head_of(target) != manifest.head:", ":"),
            Mutant(
                "backup/restore.py",
                "            violations = copied.violations(progress)\n",
                "            violations: list[Violation] = []\n",
            ),
            Mutant(
                "backup/archive.py",
                "        if line.tables != digests or expected:\n",
                "        if line.tables != digests:\n",
            ),
            Mutant("backup/archive.py", "        if line.tables != digests or expected:\n", "        if expected:\n"),
            Mutant(
                "backup/archive.py", "(end.rows, end.sha256) != (found.rows, found.sha256):", "end.rows != found.rows:"
            ),
            Mutant(
                "backup/archive.py",
                "        if self._take() is not None:\n            raise Unusable",
                "        if False:\n            raise Unusable",
            ),
            Mutant(
                "backup/new_file.py",
                "        if (has_bytes(path) or has_bytes(log_of(path))) and not aside:\n",
                "        if False:\n",
            ),
            Mutant("backup/new_file.py", "            sync(fresh)\n            if aside:", "            if aside:"),
            Mutant("store/record_restore.py", "last_transfer=last_transfer,", "last_transfer=0,"),
        ),
    ),
)
