-- Totals of accounts, for PostgreSQL: the same table and guards as 0005_totals.sqlite.sql, which says why.

CREATE TABLE account_total (
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    quarter BIGINT NOT NULL CHECK (quarter >= 0),
    sequence BIGINT NOT NULL,
    taken BIGINT NOT NULL,
    refunded BIGINT NOT NULL,
    fees BIGINT NOT NULL,
    paid_out BIGINT NOT NULL,
    paid_in BIGINT NOT NULL,
    corrected BIGINT NOT NULL,
    taken_count BIGINT NOT NULL CHECK (taken_count >= 0),
    refunded_count BIGINT NOT NULL CHECK (refunded_count >= 0),
    fees_count BIGINT NOT NULL CHECK (fees_count >= 0),
    paid_out_count BIGINT NOT NULL CHECK (paid_out_count >= 0),
    paid_in_count BIGINT NOT NULL CHECK (paid_in_count >= 0),
    corrected_count BIGINT NOT NULL CHECK (corrected_count >= 0),
    PRIMARY KEY (account, currency, quarter),
    CHECK (sequence >= 1 AND taken_count + refunded_count + fees_count + paid_out_count + paid_in_count + corrected_count = sequence),
    CHECK (taken >= taken_count AND (taken = 0) = (taken_count = 0)),
    CHECK (refunded >= refunded_count AND (refunded = 0) = (refunded_count = 0)),
    CHECK (fees >= fees_count AND (fees = 0) = (fees_count = 0)),
    CHECK (paid_out >= paid_out_count AND (paid_out = 0) = (paid_out_count = 0)),
    CHECK (paid_in >= paid_in_count AND (paid_in = 0) = (paid_in_count = 0)),
    CHECK (corrected = 0 OR corrected_count > 0)
) WITH (fillfactor = 90);

-- Of rows in a statement: each against the one before it, those after it, and the ledger.
CREATE FUNCTION account_totals_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added n
        LEFT JOIN transfer d ON d.debit = n.account AND d.currency = n.currency AND d.debit_sequence = n.sequence
        LEFT JOIN transfer c ON c.credit = n.account AND c.currency = n.currency AND c.credit_sequence = n.sequence
        WHERE n.taken - n.refunded - n.fees - n.paid_out + n.paid_in + n.corrected
            IS DISTINCT FROM coalesce(d.debit_balance, c.credit_balance))
    THEN
        RAISE check_violation USING MESSAGE = 'account total: is not what the ledger says';
    END IF;
    IF EXISTS (SELECT 1 FROM added n JOIN LATERAL (SELECT * FROM account_total t WHERE t.account = n.account
        AND t.currency = n.currency AND t.quarter < n.quarter ORDER BY t.quarter DESC LIMIT 1) AS b ON TRUE
        WHERE n.sequence <= b.sequence OR n.taken < b.taken OR n.refunded < b.refunded OR n.fees < b.fees
        OR n.paid_out < b.paid_out OR n.paid_in < b.paid_in OR n.taken_count < b.taken_count
        OR n.refunded_count < b.refunded_count OR n.fees_count < b.fees_count OR n.paid_out_count < b.paid_out_count
        OR n.paid_in_count < b.paid_in_count OR n.corrected_count < b.corrected_count)
    THEN
        RAISE check_violation USING MESSAGE = 'account total: has less than the one before it';
    END IF;
    -- By their number: to compare each with each would take the square of it.
    IF EXISTS (SELECT 1 FROM (SELECT account, currency, min(quarter) AS first, count(*) AS times FROM added GROUP BY account, currency) AS n
        WHERE n.times <> (SELECT count(*) FROM account_total t WHERE t.account = n.account AND t.currency = n.currency AND t.quarter >= n.first))
    THEN
        RAISE check_violation USING MESSAGE = 'account total: only the last one grows';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER account_totals_begin AFTER INSERT ON account_total REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION account_totals_follow();
CREATE TRIGGER account_totals_grow AFTER UPDATE ON account_total REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION account_totals_follow();
CREATE TRIGGER account_total_belongs BEFORE UPDATE ON account_total FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.quarter <> OLD.quarter)
    EXECUTE FUNCTION refused('account total: its account, currency and quarter never change');
CREATE TRIGGER account_total_grows BEFORE UPDATE ON account_total FOR EACH ROW
    WHEN (NEW.sequence <= OLD.sequence OR NEW.taken < OLD.taken OR NEW.refunded < OLD.refunded OR NEW.fees < OLD.fees
        OR NEW.paid_out < OLD.paid_out OR NEW.paid_in < OLD.paid_in OR NEW.taken_count < OLD.taken_count
        OR NEW.refunded_count < OLD.refunded_count OR NEW.fees_count < OLD.fees_count
        OR NEW.paid_out_count < OLD.paid_out_count OR NEW.paid_in_count < OLD.paid_in_count
        OR NEW.corrected_count < OLD.corrected_count)
    EXECUTE FUNCTION refused('account total: has less than the one before it');

CREATE FUNCTION account_totals_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM gone o JOIN account_total t ON t.account = o.account AND t.currency = o.currency AND t.quarter > o.quarter) THEN
        RAISE check_violation USING MESSAGE = 'account total: only the last one is removed';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER account_totals_leave AFTER DELETE ON account_total REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION account_totals_leave();
