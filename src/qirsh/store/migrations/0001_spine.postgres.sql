-- The first schema, for PostgreSQL: the same tables, rules and guards as 0001_spine.sqlite.sql, which says why.
-- Guards are row triggers of plain PL/pgSQL; a broken rule raises check_violation, and the transaction is over.
-- What is written again and again keeps half of each page free, so that its index need not follow.
-- Payments, transfers and events have no foreign keys: their guards look for what they refer to, at half the cost and
-- without a lock on a busy merchant's row; and nothing that they refer to ever vanishes or changes its key.

CREATE TABLE instance (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

-- What the server said of the guards right after a migration; `qirsh verify` compares.
CREATE TABLE schema_guard (
    migration BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    server BIGINT NOT NULL,
    PRIMARY KEY (migration, kind, name)
);

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL CHECK (last >= 0)
) WITH (fillfactor = 50);

-- One row for each connection that writes batches: the number of its last one tells whether a commit whose answer was
-- lost has happened. It is changed at the begin of each batch, so whoever reads it under a lock waits for the end.
CREATE TABLE writer (
    name TEXT PRIMARY KEY,
    batch BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Which of several processes plays a role, and until when nobody else may.
CREATE TABLE lease (
    role TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE currency (
    code TEXT PRIMARY KEY,
    exponent INTEGER NOT NULL CHECK (exponent BETWEEN 0 AND 4),
    since TEXT NOT NULL
);
INSERT INTO currency VALUES ('SYP', 2, '2026-01-01'), ('USD', 2, '1792-04-02'), ('TRY', 2, '2005-01-01'), ('EUR', 2, '1999-01-01');

CREATE TABLE account (
    number BIGINT PRIMARY KEY CHECK (number BETWEEN 100000000000 AND 999999999999),
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'commercial', 'house')),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    owner BIGINT,
    twin_of BIGINT REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    return_origins TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK ((mode = 'test') = (twin_of IS NOT NULL)),
    CHECK ((mode = 'test') = (state = 'mirrored')),
    CHECK (owner IS NOT NULL OR kind = 'house'),
    CHECK (state = 'mirrored' OR CASE kind
        WHEN 'personal' THEN state IN ('unverified', 'verified', 'suspended', 'closed')
        WHEN 'commercial' THEN state IN ('requested', 'approved', 'rejected', 'suspended', 'closed')
        ELSE state = 'open' END)
);
CREATE INDEX account_owner ON account (owner);
CREATE INDEX account_twin ON account (twin_of) WHERE twin_of IS NOT NULL;
CREATE UNIQUE INDEX account_house ON account (name) WHERE kind = 'house' AND mode = 'live';

CREATE TABLE person (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    account BIGINT NOT NULL UNIQUE REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    created_at BIGINT NOT NULL
);
ALTER TABLE account ADD FOREIGN KEY (owner) REFERENCES person DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE login (
    email TEXT PRIMARY KEY,
    person BIGINT NOT NULL UNIQUE REFERENCES person,
    password_hash TEXT NOT NULL,
    totp_sealed BYTEA,
    created_at BIGINT NOT NULL
);

CREATE TABLE pin (
    person BIGINT PRIMARY KEY REFERENCES person,
    mac BYTEA NOT NULL,
    failures BIGINT NOT NULL CHECK (failures >= 0)
) WITH (fillfactor = 50);

CREATE TABLE operator (
    person BIGINT PRIMARY KEY REFERENCES person,
    created_by BIGINT REFERENCES operator,
    created_at BIGINT NOT NULL
);
-- Only the first operator stands without another who vouches.
CREATE UNIQUE INDEX operator_first ON operator ((created_by IS NULL)) WHERE created_by IS NULL;

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL REFERENCES account,
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    hint TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX api_key_account ON api_key (account);

CREATE TABLE session (
    hash BYTEA PRIMARY KEY CHECK (length(hash) = 32),
    person BIGINT NOT NULL REFERENCES person,
    account BIGINT NOT NULL REFERENCES account,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE TABLE payment (
    number BIGINT PRIMARY KEY CHECK (number > 0),
    merchant BIGINT NOT NULL,
    payer BIGINT,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'cancelled', 'expired')),
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    reference TEXT,
    return_url TEXT,
    cancel_url TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    paid_at BIGINT,
    cancelled_at BIGINT,
    refunded_amount BIGINT NOT NULL CHECK (refunded_amount BETWEEN 0 AND amount),
    version BIGINT NOT NULL CHECK (version >= 1),
    CHECK ((status = 'paid') = (payer IS NOT NULL AND paid_at IS NOT NULL)),
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CHECK (status = 'paid' OR (refunded_amount = 0 AND payer IS NULL AND paid_at IS NULL))
);
CREATE INDEX payment_due ON payment (expires_at) WHERE status = 'pending';

-- Room for refunds: each is its own object and its own transfer.
CREATE TABLE refund (
    id TEXT PRIMARY KEY,
    payment BIGINT NOT NULL REFERENCES payment,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX refund_payment ON refund (payment);

CREATE TABLE cash_order (
    house BIGINT NOT NULL REFERENCES account,
    reference TEXT NOT NULL CHECK (reference <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'withdrawal')),
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    state TEXT NOT NULL CHECK (state IN ('asked', 'confirmed')),
    asked_by BIGINT NOT NULL REFERENCES operator,
    asked_at BIGINT NOT NULL,
    confirmed_by BIGINT REFERENCES operator,
    confirmed_at BIGINT,
    PRIMARY KEY (house, reference),
    CHECK ((state = 'confirmed') = (confirmed_by IS NOT NULL AND confirmed_at IS NOT NULL)),
    CHECK (confirmed_by <> asked_by)
);

CREATE TABLE balance (
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN -999999999999999999 AND 999999999999999999),
    sequence BIGINT NOT NULL CHECK (sequence >= 1),
    is_house BOOLEAN NOT NULL,
    PRIMARY KEY (account, currency),
    CHECK (amount >= 0 OR is_house)
) WITH (fillfactor = 50);

CREATE TABLE transfer (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('pay', 'refund', 'fee', 'deposit', 'withdrawal', 'mint', 'reversal')),
    debit BIGINT NOT NULL,
    credit BIGINT NOT NULL,
    currency TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    debit_sequence BIGINT NOT NULL,
    debit_balance BIGINT NOT NULL,
    credit_sequence BIGINT NOT NULL,
    credit_balance BIGINT NOT NULL,
    payment BIGINT,
    cash_order TEXT,
    reverses BIGINT,
    created_at BIGINT NOT NULL,
    CHECK (debit <> credit),
    CHECK ((kind IN ('pay', 'refund', 'fee')) = (payment IS NOT NULL)),
    CHECK ((kind IN ('deposit', 'withdrawal')) = (cash_order IS NOT NULL)),
    CHECK ((kind = 'reversal') = (reverses IS NOT NULL))
);
CREATE UNIQUE INDEX transfer_debit ON transfer (debit, currency, debit_sequence);
CREATE UNIQUE INDEX transfer_credit ON transfer (credit, currency, credit_sequence);
CREATE UNIQUE INDEX transfer_pay ON transfer (payment) WHERE kind = 'pay';
CREATE INDEX transfer_refund ON transfer (payment) WHERE kind = 'refund';
CREATE UNIQUE INDEX transfer_reversal ON transfer (reverses) WHERE reverses IS NOT NULL;

CREATE TABLE event_counter (
    account BIGINT PRIMARY KEY REFERENCES account,
    last BIGINT NOT NULL CHECK (last >= 1)
) WITH (fillfactor = 50);

CREATE TABLE event (
    account BIGINT NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 1),
    epoch BIGINT NOT NULL,
    type TEXT NOT NULL,
    payment BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 2),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, sequence)
);
CREATE UNIQUE INDEX event_payment ON event (payment, version);

CREATE TABLE remembered (
    account BIGINT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    status BIGINT NOT NULL CHECK (status BETWEEN 200 AND 299),
    body BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE TABLE audit (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);

-- The one answer to whatever never happens; the message is the trigger's argument.

CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = TG_ARGV[0];
END $$;

-- The ledger is append-only, and every row follows the one before it on both its sides.

CREATE FUNCTION transfer_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    debited RECORD;
    before BIGINT := 0;
    has_cause BOOLEAN;
BEGIN
    -- Live accounts have no twin; a test account's circle is the live account it belongs to.
    SELECT d.kind, d.mode, d.twin_of IS NOT DISTINCT FROM c.twin_of AS is_of_one_circle
    INTO debited FROM account d, account c WHERE d.number = NEW.debit AND c.number = NEW.credit;
    IF debited.is_of_one_circle IS NOT TRUE THEN
        RAISE check_violation USING MESSAGE = 'transfer: across modes or across merchants';
    END IF;

    IF NEW.debit_sequence <> 1 THEN
        SELECT debit_balance INTO before FROM transfer
        WHERE debit = NEW.debit AND currency = NEW.currency AND debit_sequence = NEW.debit_sequence - 1;
        IF NOT FOUND THEN
            SELECT credit_balance INTO before FROM transfer
            WHERE credit = NEW.debit AND currency = NEW.currency AND credit_sequence = NEW.debit_sequence - 1;
        END IF;
    END IF;
    IF NEW.debit_balance IS DISTINCT FROM before - NEW.amount OR EXISTS (SELECT 1 FROM transfer
        WHERE credit = NEW.debit AND currency = NEW.currency AND credit_sequence = NEW.debit_sequence)
    THEN
        RAISE check_violation USING MESSAGE = 'transfer: the debit side does not follow its predecessor';
    END IF;

    before := 0;
    IF NEW.credit_sequence <> 1 THEN
        SELECT credit_balance INTO before FROM transfer
        WHERE credit = NEW.credit AND currency = NEW.currency AND credit_sequence = NEW.credit_sequence - 1;
        IF NOT FOUND THEN
            SELECT debit_balance INTO before FROM transfer
            WHERE debit = NEW.credit AND currency = NEW.currency AND debit_sequence = NEW.credit_sequence - 1;
        END IF;
    END IF;
    IF NEW.credit_balance IS DISTINCT FROM before + NEW.amount OR EXISTS (SELECT 1 FROM transfer
        WHERE debit = NEW.credit AND currency = NEW.currency AND debit_sequence = NEW.credit_sequence)
    THEN
        RAISE check_violation USING MESSAGE = 'transfer: the credit side does not follow its predecessor';
    END IF;

    IF NEW.debit_balance < 0 AND (NEW.kind NOT IN ('deposit', 'mint', 'reversal') OR debited.kind <> 'house') THEN
        RAISE check_violation USING MESSAGE = 'transfer: below zero';
    END IF;

    IF NEW.kind = 'pay' THEN
        has_cause := debited.kind = 'personal' AND EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment
            AND status = 'pending' AND merchant = NEW.credit AND amount = NEW.amount AND currency = NEW.currency);
    ELSIF NEW.kind = 'refund' THEN
        has_cause := EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND status = 'paid'
            AND merchant = NEW.debit AND payer = NEW.credit AND currency = NEW.currency);
    ELSIF NEW.kind = 'fee' THEN
        has_cause := EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND currency = NEW.currency);
    ELSIF NEW.kind IN ('deposit', 'withdrawal') THEN
        has_cause := EXISTS (SELECT 1 FROM cash_order
            WHERE house = CASE NEW.kind WHEN 'deposit' THEN NEW.debit ELSE NEW.credit END
            AND reference = NEW.cash_order AND state = 'asked'
            AND account = CASE NEW.kind WHEN 'deposit' THEN NEW.credit ELSE NEW.debit END
            AND kind = NEW.kind AND amount = NEW.amount AND currency = NEW.currency);
    ELSIF NEW.kind = 'mint' THEN
        has_cause := debited.kind = 'house' AND debited.mode = 'test'
            AND EXISTS (SELECT 1 FROM currency WHERE code = NEW.currency);
    ELSE
        has_cause := EXISTS (SELECT 1 FROM transfer WHERE id = NEW.reverses AND currency = NEW.currency);
    END IF;
    IF has_cause IS NOT TRUE THEN
        RAISE check_violation USING MESSAGE = 'transfer: does not match what it is for';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transfer_follows BEFORE INSERT ON transfer FOR EACH ROW EXECUTE FUNCTION transfer_follows();

CREATE FUNCTION balance_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    has_grown BOOLEAN := true;
    after BIGINT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.is_house IS DISTINCT FROM (SELECT kind = 'house' FROM account WHERE number = NEW.account) THEN
            RAISE check_violation USING MESSAGE = 'balance: only a house account may go below zero';
        END IF;
    ELSE
        has_grown := NEW.amount > OLD.amount;
    END IF;
    -- What it grew by is a credit, most often; of both sides only one can have the number.
    IF has_grown THEN
        SELECT credit_balance INTO after FROM transfer
        WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence;
    END IF;
    IF after IS NULL THEN
        SELECT debit_balance INTO after FROM transfer
        WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence;
    END IF;
    IF after IS NULL AND NOT has_grown THEN
        SELECT credit_balance INTO after FROM transfer
        WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence;
    END IF;
    IF NEW.amount IS DISTINCT FROM after THEN
        RAISE check_violation USING MESSAGE = 'balance: is not what its last transfer left';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER balance_belongs BEFORE UPDATE ON balance FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.is_house <> OLD.is_house)
    EXECUTE FUNCTION refused('balance: its account, currency and kind never change');
CREATE TRIGGER balance_counts_up BEFORE UPDATE ON balance FOR EACH ROW
    WHEN (NEW.sequence < OLD.sequence) EXECUTE FUNCTION refused('balance: is not what its last transfer left');
CREATE TRIGGER balance_follows BEFORE INSERT OR UPDATE ON balance FOR EACH ROW EXECUTE FUNCTION balance_follows();

-- A payment begins pending, moves once, and keeps what it was asked with.

CREATE FUNCTION payment_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> 'pending' OR NEW.version <> 1 THEN
        RAISE check_violation USING MESSAGE = 'payment: begins pending, at version 1';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM account, currency WHERE number = NEW.merchant AND code = NEW.currency) THEN
        RAISE foreign_key_violation USING MESSAGE = 'payment: of a merchant or a currency that is not there';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_begins BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION payment_begins();

CREATE TRIGGER payment_keeps BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.number <> OLD.number OR NEW.merchant <> OLD.merchant OR NEW.amount <> OLD.amount OR NEW.currency <> OLD.currency
        OR NEW.note <> OLD.note OR NEW.metadata <> OLD.metadata OR NEW.reference IS DISTINCT FROM OLD.reference
        OR NEW.return_url IS DISTINCT FROM OLD.return_url OR NEW.cancel_url IS DISTINCT FROM OLD.cancel_url
        OR NEW.created_at <> OLD.created_at OR NEW.expires_at <> OLD.expires_at)
    EXECUTE FUNCTION refused('payment: what was asked never changes');
CREATE TRIGGER payment_ends BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (OLD.status <> 'pending' AND (NEW.status <> OLD.status OR NEW.payer IS DISTINCT FROM OLD.payer
        OR NEW.paid_at IS DISTINCT FROM OLD.paid_at OR NEW.cancelled_at IS DISTINCT FROM OLD.cancelled_at))
    EXECUTE FUNCTION refused('payment: a final state is final');
CREATE TRIGGER payment_grows BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.version <= OLD.version) EXECUTE FUNCTION refused('payment: its version only grows');
CREATE TRIGGER payment_refunds_grow BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.refunded_amount < OLD.refunded_amount) EXECUTE FUNCTION refused('payment: refunds only grow');

CREATE FUNCTION payment_is_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM transfer WHERE payment = NEW.number AND kind = 'pay' AND debit = NEW.payer
        AND credit = NEW.merchant AND amount = NEW.amount AND currency = NEW.currency)
    THEN
        RAISE check_violation USING MESSAGE = 'payment: paid without its transfer';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_is_paid BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (OLD.status = 'pending' AND NEW.status = 'paid') EXECUTE FUNCTION payment_is_paid();

CREATE FUNCTION payment_is_refunded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.refunded_amount IS DISTINCT FROM
        (SELECT sum(amount) FROM transfer WHERE payment = NEW.number AND kind = 'refund')
    THEN
        RAISE check_violation USING MESSAGE = 'payment: refunded without transfers';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_is_refunded BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.refunded_amount > OLD.refunded_amount) EXECUTE FUNCTION payment_is_refunded();

CREATE TRIGGER cash_order_begins BEFORE INSERT ON cash_order FOR EACH ROW
    WHEN (NEW.state <> 'asked') EXECUTE FUNCTION refused('cash order: begins asked');

CREATE FUNCTION cash_order_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'asked' OR NEW.house <> OLD.house OR NEW.reference <> OLD.reference OR NEW.kind <> OLD.kind
        OR NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.amount <> OLD.amount
        OR NEW.asked_by <> OLD.asked_by OR NEW.asked_at <> OLD.asked_at
    THEN
        RAISE check_violation USING MESSAGE = 'cash order: is confirmed once, and changes in nothing else';
    END IF;
    IF NEW.state = 'confirmed' AND NOT EXISTS (SELECT 1 FROM transfer
        WHERE kind = NEW.kind AND cash_order = NEW.reference AND currency = NEW.currency AND amount = NEW.amount
        AND debit = CASE NEW.kind WHEN 'deposit' THEN NEW.house ELSE NEW.account END
        AND credit = CASE NEW.kind WHEN 'deposit' THEN NEW.account ELSE NEW.house END)
    THEN
        RAISE check_violation USING MESSAGE = 'cash order: confirmed without its transfer';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cash_order_moves BEFORE UPDATE ON cash_order FOR EACH ROW EXECUTE FUNCTION cash_order_moves();

-- Events tell of changes that happened, one each, without gaps.

CREATE FUNCTION event_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    known RECORD;
BEGIN
    SELECT NEW.sequence = 1 OR EXISTS (SELECT 1 FROM event WHERE account = NEW.account AND sequence = NEW.sequence - 1)
            AS follows,
        EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND merchant = NEW.account AND version >= NEW.version)
            AS has_change
    INTO known;
    IF NOT known.follows THEN
        RAISE check_violation USING MESSAGE = 'event: leaves a gap';
    END IF;
    IF NOT known.has_change THEN
        RAISE check_violation USING MESSAGE = 'event: without its change';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_follows BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION event_follows();

CREATE TRIGGER account_stays BEFORE UPDATE ON account FOR EACH ROW
    WHEN (NEW.number <> OLD.number OR NEW.kind <> OLD.kind OR NEW.mode <> OLD.mode
        OR NEW.owner IS DISTINCT FROM OLD.owner OR NEW.twin_of IS DISTINCT FROM OLD.twin_of)
    EXECUTE FUNCTION refused('account: its number, kind, mode, owner and twin never change');

CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION refused('transfers never change');
CREATE TRIGGER event_stays BEFORE UPDATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refused('events never change');
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refused('audit entries never change');
CREATE TRIGGER operator_stays BEFORE UPDATE ON operator FOR EACH STATEMENT EXECUTE FUNCTION refused('operators never change');

CREATE TRIGGER currency_stays BEFORE UPDATE OF code OR DELETE OR TRUNCATE ON currency FOR EACH STATEMENT EXECUTE FUNCTION refused('currencies never vanish');
CREATE TRIGGER transfer_remains BEFORE DELETE OR TRUNCATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION refused('transfers never vanish');
CREATE TRIGGER balance_remains BEFORE DELETE OR TRUNCATE ON balance FOR EACH STATEMENT EXECUTE FUNCTION refused('balances never vanish');
CREATE TRIGGER payment_remains BEFORE DELETE OR TRUNCATE ON payment FOR EACH STATEMENT EXECUTE FUNCTION refused('payments never vanish');
CREATE TRIGGER cash_order_remains BEFORE DELETE OR TRUNCATE ON cash_order FOR EACH STATEMENT EXECUTE FUNCTION refused('cash orders never vanish');
CREATE TRIGGER event_remains BEFORE DELETE OR TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refused('events never vanish');
CREATE TRIGGER audit_remains BEFORE DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refused('audit entries never vanish');
CREATE TRIGGER account_remains BEFORE DELETE OR TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refused('accounts never vanish');
CREATE TRIGGER schema_guard_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON schema_guard FOR EACH STATEMENT EXECUTE FUNCTION refused('guards are never forgotten');
