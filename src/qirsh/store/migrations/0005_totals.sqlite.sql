-- Totals of accounts: all that the first transfers of an account and currency add up to, a row for each quarter hour in
-- which there were some. A worker keeps them; reports and charts are the differences of two.

CREATE TABLE account_total (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    quarter INTEGER NOT NULL CHECK (quarter >= 0),
    sequence INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    refunded INTEGER NOT NULL,
    fees INTEGER NOT NULL,
    paid_out INTEGER NOT NULL,
    paid_in INTEGER NOT NULL,
    corrected INTEGER NOT NULL,
    taken_count INTEGER NOT NULL CHECK (taken_count >= 0),
    refunded_count INTEGER NOT NULL CHECK (refunded_count >= 0),
    fees_count INTEGER NOT NULL CHECK (fees_count >= 0),
    paid_out_count INTEGER NOT NULL CHECK (paid_out_count >= 0),
    paid_in_count INTEGER NOT NULL CHECK (paid_in_count >= 0),
    corrected_count INTEGER NOT NULL CHECK (corrected_count >= 0),
    PRIMARY KEY (account, currency, quarter),
    -- Each transfer counts once.
    CHECK (sequence >= 1 AND taken_count + refunded_count + fees_count + paid_out_count + paid_in_count + corrected_count = sequence),
    -- No amount is below one.
    CHECK (taken >= taken_count AND (taken = 0) = (taken_count = 0)),
    CHECK (refunded >= refunded_count AND (refunded = 0) = (refunded_count = 0)),
    CHECK (fees >= fees_count AND (fees = 0) = (fees_count = 0)),
    CHECK (paid_out >= paid_out_count AND (paid_out = 0) = (paid_out_count = 0)),
    CHECK (paid_in >= paid_in_count AND (paid_in = 0) = (paid_in_count = 0)),
    CHECK (corrected = 0 OR corrected_count > 0)
) STRICT, WITHOUT ROWID;

-- REPLACE would take a row without asking the guards below, by which each row proves itself.
CREATE TRIGGER account_total_is_new BEFORE INSERT ON account_total
WHEN EXISTS (SELECT 1 FROM account_total WHERE account = NEW.account AND currency = NEW.currency AND quarter = NEW.quarter)
BEGIN SELECT RAISE(ROLLBACK, 'account totals are never replaced'); END;
CREATE TRIGGER account_total_begins BEFORE INSERT ON account_total BEGIN
    SELECT RAISE(ROLLBACK, 'account total: only the last one grows')
    WHERE EXISTS (SELECT 1 FROM account_total WHERE account = NEW.account AND currency = NEW.currency AND quarter > NEW.quarter);
    SELECT RAISE(ROLLBACK, 'account total: has less than the one before it')
    WHERE EXISTS (SELECT 1 FROM (SELECT * FROM account_total WHERE account = NEW.account AND currency = NEW.currency
        AND quarter < NEW.quarter ORDER BY quarter DESC LIMIT 1) AS b
        WHERE NEW.sequence <= b.sequence OR NEW.taken < b.taken OR NEW.refunded < b.refunded OR NEW.fees < b.fees
        OR NEW.paid_out < b.paid_out OR NEW.paid_in < b.paid_in OR NEW.taken_count < b.taken_count
        OR NEW.refunded_count < b.refunded_count OR NEW.fees_count < b.fees_count OR NEW.paid_out_count < b.paid_out_count
        OR NEW.paid_in_count < b.paid_in_count OR NEW.corrected_count < b.corrected_count);
    SELECT RAISE(ROLLBACK, 'account total: is not what the ledger says')
    WHERE NEW.taken - NEW.refunded - NEW.fees - NEW.paid_out + NEW.paid_in + NEW.corrected IS NOT coalesce(
        (SELECT debit_balance FROM transfer WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence),
        (SELECT credit_balance FROM transfer WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence));
END;
CREATE TRIGGER account_total_grows BEFORE UPDATE ON account_total BEGIN
    SELECT RAISE(ROLLBACK, 'account total: its account, currency and quarter never change')
    WHERE NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.quarter <> OLD.quarter;
    SELECT RAISE(ROLLBACK, 'account total: only the last one grows')
    WHERE EXISTS (SELECT 1 FROM account_total WHERE account = NEW.account AND currency = NEW.currency AND quarter > NEW.quarter);
    SELECT RAISE(ROLLBACK, 'account total: has less than the one before it')
    WHERE NEW.sequence <= OLD.sequence OR NEW.taken < OLD.taken OR NEW.refunded < OLD.refunded OR NEW.fees < OLD.fees
        OR NEW.paid_out < OLD.paid_out OR NEW.paid_in < OLD.paid_in OR NEW.taken_count < OLD.taken_count
        OR NEW.refunded_count < OLD.refunded_count OR NEW.fees_count < OLD.fees_count
        OR NEW.paid_out_count < OLD.paid_out_count OR NEW.paid_in_count < OLD.paid_in_count
        OR NEW.corrected_count < OLD.corrected_count;
    SELECT RAISE(ROLLBACK, 'account total: is not what the ledger says')
    WHERE NEW.taken - NEW.refunded - NEW.fees - NEW.paid_out + NEW.paid_in + NEW.corrected IS NOT coalesce(
        (SELECT debit_balance FROM transfer WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence),
        (SELECT credit_balance FROM transfer WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence));
END;
-- They may be made again, from the end: what is left always begins with the first transfer and has no gap.
CREATE TRIGGER account_total_leaves BEFORE DELETE ON account_total
WHEN EXISTS (SELECT 1 FROM account_total WHERE account = OLD.account AND currency = OLD.currency AND quarter > OLD.quarter)
BEGIN SELECT RAISE(ROLLBACK, 'account total: only the last one is removed'); END;
