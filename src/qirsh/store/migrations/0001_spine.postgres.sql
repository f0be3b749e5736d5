-- The first schema, for PostgreSQL: the same tables, rules and guards as 0001_spine.sqlite.sql, which says why.
-- Guards are triggers of plain PL/pgSQL, for all rows of a statement where they ask the tables; a broken rule raises an error,
-- and the transaction is over.
-- What is written again and again keeps half of each page free, so that its index need not follow.
-- Payments, transfers and events have no foreign keys: their guards look for what they refer to, at half the cost and
-- without a lock on a busy merchant's row; and nothing that they refer to ever vanishes or changes its key.

CREATE TABLE constant (
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
    last BIGINT NOT NULL CHECK (last BETWEEN 0 AND 999999999999999999)
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
    live_account BIGINT REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    return_origins TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    return_url TEXT,
    cancel_url TEXT,
    expires_in_s BIGINT NOT NULL CHECK (expires_in_s BETWEEN 300 AND 604800),
    CHECK ((mode = 'test') = (live_account IS NOT NULL)),
    CHECK ((mode = 'test') = (state = 'mirrored')),
    CHECK (owner IS NOT NULL OR kind = 'house'),
    CHECK (state = 'mirrored' OR CASE kind
        WHEN 'personal' THEN state IN ('unverified', 'verified', 'suspended', 'closed')
        WHEN 'commercial' THEN state IN ('requested', 'approved', 'rejected', 'suspended', 'closed')
        ELSE state = 'open' END)
);
CREATE INDEX account_owner ON account (owner);
CREATE INDEX account_twin ON account (live_account) WHERE live_account IS NOT NULL;
CREATE UNIQUE INDEX account_house ON account (name) WHERE kind = 'house' AND mode = 'live';

CREATE TABLE person (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    account BIGINT NOT NULL UNIQUE REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    created_at BIGINT NOT NULL,
    phone TEXT NOT NULL,
    language TEXT NOT NULL,
    has_notices BOOLEAN NOT NULL,
    session_generation BIGINT NOT NULL CHECK (session_generation >= 0),
    erased_at BIGINT,
    blocked_at BIGINT
);
ALTER TABLE account ADD FOREIGN KEY (owner) REFERENCES person DEFERRABLE INITIALLY DEFERRED;

CREATE INDEX person_erased ON person (erased_at) WHERE erased_at IS NOT NULL;

CREATE TABLE login (
    email TEXT PRIMARY KEY,
    person BIGINT NOT NULL UNIQUE REFERENCES person,
    password_hash TEXT NOT NULL,
    totp_sealed BYTEA,
    created_at BIGINT NOT NULL,
    totp_step BIGINT NOT NULL,
    recovery BYTEA NOT NULL,
    wrong_codes BIGINT NOT NULL CHECK (wrong_codes >= 0)
);

CREATE TABLE pin (
    person BIGINT PRIMARY KEY REFERENCES person,
    mac BYTEA NOT NULL,
    failures BIGINT NOT NULL CHECK (failures >= 0)
) WITH (fillfactor = 50);

CREATE TABLE operator (
    person BIGINT PRIMARY KEY REFERENCES person,
    roles TEXT NOT NULL CHECK (roles <> '' AND roles NOT LIKE '_%admin%'),
    created_by BIGINT REFERENCES operator,
    created_at BIGINT NOT NULL,
    confirmed_by BIGINT REFERENCES operator,
    ended_at BIGINT,
    CHECK (created_by <> person AND confirmed_by <> person),
    CHECK (confirmed_by <> created_by),
    CHECK (confirmed_by IS NULL OR created_by IS NOT NULL),
    CHECK (ended_at >= created_at)
);
-- Only the first operator stands without another who vouches.
CREATE UNIQUE INDEX operator_first ON operator ((created_by IS NULL)) WHERE created_by IS NULL;

CREATE TABLE proposal (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    action TEXT NOT NULL,
    command TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL CHECK (reason <> ''),
    asked_by BIGINT NOT NULL REFERENCES operator,
    asked_at BIGINT NOT NULL,
    editors TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'refused', 'withdrawn', 'lapsed')),
    decided_by BIGINT REFERENCES operator,
    decided_at BIGINT,
    decision TEXT NOT NULL,
    CHECK ((state = 'open') = (decided_at IS NULL)),
    -- Of an appointment that came to nothing no address is kept.
    CHECK ((command = '{}') = (action = 'operator create' AND state IN ('refused', 'withdrawn', 'lapsed'))),
    CHECK (CASE state
        WHEN 'done' THEN decided_by IS DISTINCT FROM asked_by AND (decided_by IS NOT NULL OR action = 'operator create')
        WHEN 'refused' THEN decided_by IS NOT NULL AND decided_by IS DISTINCT FROM asked_by
        WHEN 'withdrawn' THEN decided_by IS NOT DISTINCT FROM asked_by
        ELSE decided_by IS NULL END),
    CHECK (state <> 'done' OR decided_by IS NULL OR strpos(' ' || editors || ' ', ' ' || decided_by || ' ') = 0)
);
CREATE INDEX proposal_open ON proposal (asked_at, id) WHERE state = 'open';
CREATE INDEX proposal_waits ON proposal (subject) WHERE state = 'open';

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL REFERENCES account,
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    hint TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    networks TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    replaced_by TEXT REFERENCES api_key,
    told_at BIGINT
);
CREATE INDEX api_key_account ON api_key (account);
CREATE INDEX api_key_ends ON api_key (expires_at) WHERE revoked_at IS NULL AND replaced_by IS NULL AND told_at IS NULL;

CREATE TABLE session (
    hash BYTEA PRIMARY KEY CHECK (length(hash) = 32),
    person BIGINT NOT NULL REFERENCES person,
    account BIGINT NOT NULL REFERENCES account,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    session_generation BIGINT NOT NULL,
    agent TEXT NOT NULL
);
CREATE INDEX session_person ON session (person, created_at);

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
CREATE INDEX payment_listed ON payment (merchant, status, currency, created_at, number);
CREATE INDEX payment_reference ON payment (merchant, reference, created_at, number) WHERE reference IS NOT NULL;

CREATE TABLE refund (
    id TEXT PRIMARY KEY,
    payment BIGINT NOT NULL REFERENCES payment,
    version BIGINT NOT NULL CHECK (version BETWEEN 3 AND 22), -- At most 20 of a payment.
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX refund_payment ON refund (payment, version);
CREATE UNIQUE INDEX refund_transfer ON refund (payment, sequence);

CREATE TABLE indexed_block (
    first BIGINT PRIMARY KEY,
    until BIGINT NOT NULL
);

-- What an owner wants to have at the bank; a bank order pays it.
CREATE TABLE payout (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    bank_sealed BYTEA NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'ordered', 'paid', 'refused', 'cancelled')),
    reference TEXT,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    bank_hint TEXT NOT NULL DEFAULT '' CHECK (length(bank_hint) <= 4),
    sequence BIGINT CHECK (sequence IS NULL OR state = 'paid'), -- Of its transfer.
    CHECK (CASE state WHEN 'ordered' THEN reference IS NOT NULL WHEN 'paid' THEN reference IS NOT NULL WHEN 'refused' THEN TRUE ELSE reference IS NULL END)
);
CREATE INDEX payout_account ON payout (account, created_at, id);
CREATE UNIQUE INDEX payout_paid ON payout (account, currency, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX payout_open ON payout (created_at) WHERE state IN ('asked', 'ordered');
CREATE INDEX payout_held ON payout (account) WHERE state IN ('asked', 'ordered');
CREATE INDEX payout_asked ON payout (created_at, id) WHERE state = 'asked';

CREATE TABLE bank_order (
    house BIGINT NOT NULL REFERENCES account,
    reference TEXT NOT NULL CHECK (reference <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'withdrawal')),
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    proposal TEXT NOT NULL UNIQUE REFERENCES proposal,
    booked_at BIGINT NOT NULL,
    payout TEXT REFERENCES payout,
    reverses TEXT, -- The reference of the order that it takes back, whole and once.
    PRIMARY KEY (house, reference),
    UNIQUE (house, reverses),
    CHECK (payout IS NULL OR kind = 'withdrawal'),
    CHECK (payout IS NULL OR reverses IS NULL)
);
CREATE INDEX bank_order_reference ON bank_order (reference);
CREATE INDEX bank_order_booked ON bank_order (booked_at, house, reference);

CREATE TABLE balance (
    account BIGINT NOT NULL REFERENCES account,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN -999999999999999999 AND 999999999999999999),
    sequence BIGINT NOT NULL CHECK (sequence >= 1),
    is_house BOOLEAN NOT NULL,
    held BIGINT NOT NULL CHECK (held >= 0), -- Kept for payouts.
    PRIMARY KEY (account, currency),
    CHECK (amount >= 0 OR is_house),
    CHECK (held <= amount OR held = 0)
) WITH (fillfactor = 50);

CREATE TABLE transfer (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id BETWEEN 1 AND 999999999999999999),
    kind TEXT NOT NULL CHECK (kind IN ('pay', 'refund', 'deposit', 'withdrawal', 'mint', 'reversal', 'correction')),
    debit BIGINT NOT NULL,
    credit BIGINT NOT NULL,
    currency TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    debit_sequence BIGINT NOT NULL,
    debit_balance BIGINT NOT NULL,
    credit_sequence BIGINT NOT NULL,
    credit_balance BIGINT NOT NULL,
    payment BIGINT,
    bank_order TEXT,
    reverses BIGINT,
    created_at BIGINT NOT NULL,
    CHECK (debit <> credit),
    CHECK ((kind IN ('pay', 'refund')) = (payment IS NOT NULL)),
    CHECK ((kind IN ('deposit', 'withdrawal', 'reversal', 'correction')) = (bank_order IS NOT NULL)),
    CHECK ((kind = 'reversal') = (reverses IS NOT NULL))
);
CREATE UNIQUE INDEX transfer_debit ON transfer (debit, currency, debit_sequence);
CREATE UNIQUE INDEX transfer_credit ON transfer (credit, currency, credit_sequence);
CREATE UNIQUE INDEX transfer_pay ON transfer (payment) WHERE kind = 'pay';
CREATE INDEX transfer_refund ON transfer (payment) WHERE kind = 'refund';
-- Several houses may have an order of one reference, for one account: which it is, the other side tells.
CREATE UNIQUE INDEX transfer_bank_order ON transfer (bank_order, debit, credit) WHERE bank_order IS NOT NULL;
CREATE UNIQUE INDEX transfer_reverses ON transfer (reverses) WHERE reverses IS NOT NULL;

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

CREATE TABLE stored_response (
    account BIGINT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    status BIGINT NOT NULL CHECK (status BETWEEN 200 AND 299),
    body BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE TABLE audit (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id BETWEEN 1 AND 999999999999999999),
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_money ON audit (subject) WHERE action IN ('money.stopped', 'money.resumed');

-- The chain of hashes over audit entries, transfers and credential entries; docs/audit-chain.md says what a content holds.
CREATE TABLE seal (
    number BIGINT PRIMARY KEY CHECK (number >= 1),
    at BIGINT NOT NULL,
    content TEXT NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32)
);

-- Money stands still while one is open.
CREATE TABLE stop (
    id BIGINT PRIMARY KEY CHECK (id >= 1),
    at BIGINT NOT NULL,
    reason TEXT NOT NULL,
    lifted_at BIGINT,
    lifted_by TEXT,
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
CREATE UNIQUE INDEX stop_open ON stop ((lifted_at IS NULL)) WHERE lifted_at IS NULL;

-- The one answer to whatever never happens; the message is the trigger's argument.

CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = TG_ARGV[0];
END $$;

-- The ledger is append-only, and every row follows the one before it on both its sides.

CREATE FUNCTION transfers_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    why TEXT;
BEGIN
    -- dd, dc: what came before on the debit side, as a debit or a credit; dx: another who has the number. So for credit.
    SELECT s.why INTO why FROM (
        SELECT CASE
            -- Live accounts name no live account; a test account belongs to the one it names.
            WHEN d.number IS NULL OR c.number IS NULL OR d.live_account IS DISTINCT FROM c.live_account
                THEN 'transfer: across modes or across merchants'
            WHEN dx.id IS NOT NULL OR t.debit_balance IS DISTINCT FROM -t.amount
                + CASE WHEN t.debit_sequence = 1 THEN 0 ELSE coalesce(dd.debit_balance, dc.credit_balance) END
                THEN 'transfer: the debit side does not follow its predecessor'
            WHEN cx.id IS NOT NULL OR t.credit_balance IS DISTINCT FROM t.amount
                + CASE WHEN t.credit_sequence = 1 THEN 0 ELSE coalesce(cc.credit_balance, cd.debit_balance) END
                THEN 'transfer: the credit side does not follow its predecessor'
            WHEN t.debit_balance < 0 AND (t.kind NOT IN ('deposit', 'mint', 'reversal', 'correction') OR d.kind <> 'house')
                THEN 'transfer: below zero'
            WHEN t.kind = 'pay' AND (d.kind <> 'personal' OR (p.status = 'pending' AND p.merchant = t.credit
                AND p.amount = t.amount AND p.currency = t.currency) IS NOT TRUE)
                THEN 'transfer: does not match the payment'
            WHEN t.kind = 'refund' AND (p.status = 'paid' AND p.merchant = t.debit AND p.payer = t.credit
                AND p.currency = t.currency AND p.amount >=
                (SELECT sum(r.amount) FROM transfer r WHERE r.payment = t.payment AND r.kind = 'refund')) IS NOT TRUE
                THEN 'transfer: does not match the payment it refunds'
            WHEN t.kind = 'mint' AND (d.kind <> 'house' OR d.mode <> 'test')
                THEN 'transfer: only a test mint mints'
            WHEN t.id > coalesce(pg_sequence_last_value('transfer_id_seq'::regclass), 0)
                THEN 'transfer: its id is not the next'
            END AS why
        FROM added t
        LEFT JOIN account d ON d.number = t.debit
        LEFT JOIN account c ON c.number = t.credit
        LEFT JOIN transfer dd ON dd.debit = t.debit AND dd.currency = t.currency AND dd.debit_sequence = t.debit_sequence - 1
        LEFT JOIN transfer dc ON dc.credit = t.debit AND dc.currency = t.currency AND dc.credit_sequence = t.debit_sequence - 1
        LEFT JOIN transfer dx ON dx.credit = t.debit AND dx.currency = t.currency AND dx.credit_sequence = t.debit_sequence
        LEFT JOIN transfer cc ON cc.credit = t.credit AND cc.currency = t.currency AND cc.credit_sequence = t.credit_sequence - 1
        LEFT JOIN transfer cd ON cd.debit = t.credit AND cd.currency = t.currency AND cd.debit_sequence = t.credit_sequence - 1
        LEFT JOIN transfer cx ON cx.debit = t.credit AND cx.currency = t.currency AND cx.debit_sequence = t.credit_sequence
        LEFT JOIN payment p ON p.number = t.payment
    ) s WHERE s.why IS NOT NULL LIMIT 1;
    IF why IS NULL AND EXISTS (SELECT 1 FROM added WHERE payment IS NULL) THEN
        SELECT s.why INTO why FROM (
            SELECT CASE
                WHEN t.bank_order IS NOT NULL AND NOT EXISTS (SELECT 1 FROM bank_order o JOIN account h ON h.number = o.house
                    WHERE o.reference = t.bank_order AND o.house IN (t.debit, t.credit)
                    AND o.house = CASE o.kind WHEN 'deposit' THEN t.debit ELSE t.credit END
                    AND o.account = CASE o.kind WHEN 'deposit' THEN t.credit ELSE t.debit END
                    AND t.kind = CASE WHEN o.reverses IS NOT NULL THEN 'reversal' WHEN h.name = 'corrections' THEN 'correction'
                        ELSE o.kind END
                    AND o.amount = t.amount AND o.currency = t.currency)
                    THEN 'transfer: does not match the bank order'
                WHEN t.kind = 'reversal' AND NOT EXISTS (SELECT 1 FROM bank_order o JOIN transfer b ON b.bank_order = o.reverses
                    WHERE o.reference = t.bank_order AND o.house IN (t.debit, t.credit)
                    AND b.id = t.reverses AND b.debit = t.credit AND b.credit = t.debit)
                    THEN 'transfer: does not match the one that it reverses'
                WHEN NOT EXISTS (SELECT 1 FROM currency WHERE code = t.currency)
                    THEN 'transfer: of a currency that is not there'
                END AS why
            FROM added t WHERE t.payment IS NULL
        ) s WHERE s.why IS NOT NULL LIMIT 1;
    END IF;
    IF why IS NOT NULL THEN
        RAISE check_violation USING MESSAGE = why;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER transfers_follow AFTER INSERT ON transfer REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION transfers_follow();

CREATE FUNCTION balances_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added b
        LEFT JOIN transfer d ON d.debit = b.account AND d.currency = b.currency AND d.debit_sequence = b.sequence
        LEFT JOIN transfer c ON c.credit = b.account AND c.currency = b.currency AND c.credit_sequence = b.sequence
        WHERE b.amount IS DISTINCT FROM coalesce(d.debit_balance, c.credit_balance))
    THEN
        RAISE check_violation USING MESSAGE = 'balance: is not what its last transfer left';
    END IF;
    IF TG_OP = 'INSERT' AND EXISTS (SELECT 1 FROM added b LEFT JOIN account a ON a.number = b.account
        WHERE b.is_house IS DISTINCT FROM (a.kind = 'house'))
    THEN
        RAISE check_violation USING MESSAGE = 'balance: only a house account may go below zero';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER balances_begin AFTER INSERT ON balance REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION balances_follow();
CREATE TRIGGER balances_follow AFTER UPDATE ON balance REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION balances_follow();
CREATE TRIGGER balance_belongs BEFORE UPDATE ON balance FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.is_house <> OLD.is_house)
    EXECUTE FUNCTION refused('balance: its account, currency and kind never change');
CREATE TRIGGER balance_counts_up BEFORE UPDATE ON balance FOR EACH ROW
    WHEN (NEW.sequence < OLD.sequence) EXECUTE FUNCTION refused('balance: is not what its last transfer left');

-- A payment begins pending, moves once, and keeps what it was asked with.

CREATE TRIGGER payment_begins BEFORE INSERT ON payment FOR EACH ROW
    WHEN (NEW.status <> 'pending' OR NEW.version <> 1) EXECUTE FUNCTION refused('payment: begins pending, at version 1');
CREATE FUNCTION payments_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added p
        WHERE NOT EXISTS (SELECT 1 FROM account WHERE number = p.merchant)
        OR NOT EXISTS (SELECT 1 FROM currency WHERE code = p.currency))
    THEN
        RAISE foreign_key_violation USING MESSAGE = 'payment: of a merchant or a currency that is not there';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER payments_begin AFTER INSERT ON payment REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION payments_begin();
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
-- A merchant ends a test payment at will, to see what follows.
CREATE FUNCTION payment_expires() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.merchant AND mode = 'test') THEN
        RAISE check_violation USING MESSAGE = 'payment: expired before its time';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_expires BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.status = 'expired' AND OLD.status = 'pending' AND NEW.updated_at < OLD.expires_at)
    EXECUTE FUNCTION payment_expires();
CREATE TRIGGER payment_grows BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.version <= OLD.version) EXECUTE FUNCTION refused('payment: its version only grows');
CREATE TRIGGER payment_refunds_grow BEFORE UPDATE ON payment FOR EACH ROW
    WHEN (NEW.refunded_amount < OLD.refunded_amount) EXECUTE FUNCTION refused('payment: refunds only grow');

CREATE FUNCTION payments_are_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM changed p LEFT JOIN transfer t ON t.payment = p.number AND t.kind = 'pay'
        WHERE p.status = 'paid' AND (t.debit = p.payer AND t.credit = p.merchant
        AND t.amount = p.amount AND t.currency = p.currency) IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'payment: paid without its transfer';
    END IF;
    IF EXISTS (SELECT 1 FROM changed p WHERE p.refunded_amount > 0 AND p.refunded_amount IS DISTINCT FROM
        (SELECT sum(t.amount) FROM transfer t WHERE t.payment = p.number AND t.kind = 'refund'))
    THEN
        RAISE check_violation USING MESSAGE = 'payment: refunded without transfers';
    END IF;
    IF EXISTS (SELECT 1 FROM changed p WHERE p.refunded_amount > 0 AND p.refunded_amount IS DISTINCT FROM
        (SELECT sum(r.amount) FROM refund r WHERE r.payment = p.number))
    THEN
        RAISE check_violation USING MESSAGE = 'payment: refunded without a refund';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER payments_are_paid AFTER UPDATE ON payment REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION payments_are_paid();

CREATE FUNCTION refunds_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added r LEFT JOIN payment p ON p.number = r.payment
        LEFT JOIN transfer t ON t.debit = p.merchant AND t.currency = p.currency AND t.debit_sequence = r.sequence
        WHERE (t.kind = 'refund' AND t.payment = r.payment AND t.amount = r.amount) IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'refund: without its transfer';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refunds_follow AFTER INSERT ON refund REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION refunds_follow();

CREATE FUNCTION bank_order_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
        WHERE p.id = NEW.proposal AND p.state = 'done'
        AND (p.action, held ->> 'type') = (SELECT CASE WHEN NEW.reverses IS NOT NULL THEN 'reversal'
            WHEN h.name = 'corrections' THEN 'correction' WHEN NEW.payout IS NOT NULL THEN 'payout' ELSE NEW.kind END,
            CASE WHEN NEW.reverses IS NOT NULL THEN 'ReverseBankTransfer' WHEN h.name = 'corrections' THEN 'CorrectBalance'
            ELSE 'BookBankTransfer' END FROM account h WHERE h.number = NEW.house AND h.kind = 'house')
        AND held ->> 'reverses' IS NOT DISTINCT FROM NEW.reverses
        AND held ->> 'kind' = NEW.kind AND held ->> 'house' = NEW.house::text
        AND held ->> 'reference' = NEW.reference AND held ->> 'account' = NEW.account::text
        AND held ->> 'currency' = NEW.currency AND held ->> 'amount' = NEW.amount::text
        AND held ->> 'payout' IS NOT DISTINCT FROM NEW.payout)
    THEN
        RAISE check_violation USING MESSAGE = 'bank order: is not what two operators agreed to';
    END IF;
    IF EXISTS (SELECT 1 FROM proposal p JOIN account a ON a.owner IN (p.asked_by, p.decided_by)
        WHERE p.id = NEW.proposal AND a.number = NEW.account)
    THEN
        RAISE check_violation USING MESSAGE = 'bank order: an operator decides on their own account';
    END IF;
    IF NEW.payout IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payout WHERE id = NEW.payout AND state = 'ordered'
        AND reference = NEW.reference AND account = NEW.account AND currency = NEW.currency AND amount = NEW.amount)
    THEN
        RAISE check_violation USING MESSAGE = 'bank order: does not match the payout';
    END IF;
    IF NEW.reverses IS NOT NULL AND (EXISTS (SELECT 1 FROM account WHERE number = NEW.house AND name = 'corrections')
        OR NOT EXISTS (SELECT 1 FROM bank_order WHERE house = NEW.house AND reference = NEW.reverses AND reverses IS NULL
            AND kind <> NEW.kind AND account = NEW.account AND currency = NEW.currency AND amount = NEW.amount))
    THEN
        RAISE check_violation USING MESSAGE = 'bank order: does not match the one that it reverses';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_order_begins BEFORE INSERT ON bank_order FOR EACH ROW EXECUTE FUNCTION bank_order_begins();
CREATE TRIGGER bank_order_stays BEFORE UPDATE ON bank_order FOR EACH ROW EXECUTE FUNCTION refused('bank orders never change');

-- Events tell of changes that happened, one each, without gaps.

CREATE FUNCTION events_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added e WHERE e.sequence > 1
        AND NOT EXISTS (SELECT 1 FROM event b WHERE b.account = e.account AND b.sequence = e.sequence - 1))
    THEN
        RAISE check_violation USING MESSAGE = 'event: leaves a gap';
    END IF;
    IF EXISTS (SELECT 1 FROM added e LEFT JOIN payment p ON p.number = e.payment
        WHERE (p.merchant = e.account AND p.version >= e.version) IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'event: without its change';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER events_follow AFTER INSERT ON event REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION events_follow();

-- Written after the events that they count.
CREATE FUNCTION event_counters_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added c
        WHERE c.last IS DISTINCT FROM (SELECT max(e.sequence) FROM event e WHERE e.account = c.account))
    THEN
        RAISE check_violation USING MESSAGE = 'event counter: does not stand at the last event';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_counters_begin AFTER INSERT ON event_counter REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION event_counters_follow();
CREATE TRIGGER event_counters_follow AFTER UPDATE ON event_counter REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION event_counters_follow();
CREATE TRIGGER event_counter_belongs BEFORE UPDATE ON event_counter FOR EACH ROW
    WHEN (NEW.account <> OLD.account) EXECUTE FUNCTION refused('event counter: its account never changes');
-- A number that was given must not be given again. Other counters say how many there are, and may fall.
CREATE TRIGGER counter_grows BEFORE UPDATE ON counter FOR EACH ROW
    WHEN (NEW.name <> OLD.name OR (NEW.last < OLD.last AND OLD.name IN ('payment', 'person', 'account', 'revocation', 'notified', 'totalled')))
    EXECUTE FUNCTION refused('counter: numbers are never given again');

CREATE FUNCTION seals_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added s LEFT JOIN seal b ON b.number = s.number - 1
        WHERE (s.number > 1 AND b.number IS NULL)
        OR strpos(s.content, 'qirsh seal 1' || chr(10) || 'number ' || s.number || chr(10) || 'at ' || s.at || chr(10)
            || 'previous ' || coalesce(encode(b.hash, 'hex'), repeat('0', 64)) || chr(10)) <> 1
        OR s.hash <> sha256(convert_to(s.content, 'UTF8')))
    THEN
        RAISE check_violation USING MESSAGE = 'seal: does not follow its predecessor';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER seals_follow AFTER INSERT ON seal REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION seals_follow();

CREATE FUNCTION stops_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added s WHERE s.lifted_at IS NOT NULL
        OR (s.id > 1 AND NOT EXISTS (SELECT 1 FROM stop b WHERE b.id = s.id - 1)))
    THEN
        RAISE check_violation USING MESSAGE = 'stop: begins open, after the one before it';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER stops_follow AFTER INSERT ON stop REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION stops_follow();
CREATE TRIGGER stop_lifts BEFORE UPDATE ON stop FOR EACH ROW
    WHEN (OLD.lifted_at IS NOT NULL OR NEW.lifted_at IS NULL OR NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.reason <> OLD.reason)
    EXECUTE FUNCTION refused('stop: is lifted once, and changes in nothing else');

CREATE TRIGGER account_stays BEFORE UPDATE ON account FOR EACH ROW
    WHEN (NEW.number <> OLD.number OR NEW.kind <> OLD.kind OR NEW.mode <> OLD.mode
        OR NEW.owner IS DISTINCT FROM OLD.owner OR NEW.live_account IS DISTINCT FROM OLD.live_account)
    EXECUTE FUNCTION refused('account: its number, kind, mode, owner and live account never change');
-- By its name it is known what a house account is for.
CREATE TRIGGER account_house_stays BEFORE UPDATE ON account FOR EACH ROW
    WHEN (OLD.kind = 'house' AND NEW.name <> OLD.name)
    EXECUTE FUNCTION refused('account: the name of a house account never changes');

-- Without these no public id could be read again. Only a restore raises the epoch; a new secret seals its check anew.
CREATE TRIGGER constant_stays BEFORE UPDATE ON constant FOR EACH ROW
    WHEN (OLD.name NOT IN ('epoch', 'secret_check') OR NEW.name <> OLD.name) EXECUTE FUNCTION refused('constants never change');
CREATE TRIGGER constant_remains BEFORE DELETE OR TRUNCATE ON constant FOR EACH STATEMENT EXECUTE FUNCTION refused('constants never vanish');
CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION refused('transfers never change');
CREATE TRIGGER refund_stays BEFORE UPDATE ON refund FOR EACH STATEMENT EXECUTE FUNCTION refused('refunds never change');
CREATE TRIGGER event_stays BEFORE UPDATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refused('events never change');
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refused('audit entries never change');
CREATE TRIGGER seal_stays BEFORE UPDATE ON seal FOR EACH STATEMENT EXECUTE FUNCTION refused('seals never change');
-- Whoever makes one is one already, so nobody comes by themselves, also not in a circle.
CREATE FUNCTION operator_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.created_by AND ended_at IS NULL)
        OR (NEW.confirmed_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.confirmed_by AND ended_at IS NULL))
    THEN
        RAISE check_violation USING MESSAGE = 'operator: made by somebody who is none';
    END IF;
    IF NEW.confirmed_by IS NULL AND EXISTS (SELECT 1 FROM operator
        WHERE person <> NEW.created_by AND ended_at IS NULL AND roles LIKE 'admin%')
    THEN
        RAISE check_violation USING MESSAGE = 'operator: made by one alone while there are others';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operator_begins BEFORE INSERT ON operator FOR EACH ROW
    WHEN (NEW.created_by IS NOT NULL) EXECUTE FUNCTION operator_begins();
CREATE TRIGGER audit_is_next AFTER INSERT ON audit FOR EACH ROW
    WHEN (NEW.id > coalesce(pg_sequence_last_value('audit_id_seq'::regclass), 0))
    EXECUTE FUNCTION refused('audit: its id is not the next');
CREATE TRIGGER operator_stays BEFORE UPDATE ON operator FOR EACH ROW
    WHEN (OLD.ended_at IS NOT NULL OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at
        OR NEW.created_by IS DISTINCT FROM OLD.created_by OR NEW.confirmed_by IS DISTINCT FROM OLD.confirmed_by)
    EXECUTE FUNCTION refused('operators get other roles and end once, and never change otherwise');

CREATE FUNCTION proposal_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.asked_by AND ended_at IS NULL)
        OR (NEW.decided_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.decided_by AND ended_at IS NULL))
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: by somebody who is no operator';
    END IF;
    IF NEW.state = 'done' AND (NEW.subject = 'person ' || NEW.decided_by
        OR EXISTS (SELECT 1 FROM account WHERE owner = NEW.decided_by AND NEW.subject = 'account ' || number))
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: confirmed by whom it is about';
    END IF;
    IF NEW.state = 'done' AND NEW.decided_by IS NULL AND EXISTS (SELECT 1 FROM operator
        WHERE person <> NEW.asked_by AND ended_at IS NULL AND roles LIKE 'admin%')
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: carried out by one alone while there are others';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER proposal_begins BEFORE INSERT ON proposal FOR EACH ROW EXECUTE FUNCTION proposal_begins();
CREATE FUNCTION proposal_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'open' OR NEW.id <> OLD.id OR NEW.asked_by <> OLD.asked_by OR NEW.asked_at <> OLD.asked_at
        OR (NEW.state <> 'open' AND (NEW.action <> OLD.action OR (NEW.command <> OLD.command AND NEW.command <> '{}')
        OR NEW.subject <> OLD.subject OR NEW.reason <> OLD.reason OR NEW.editors <> OLD.editors))
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: is decided once, as it was shown';
    END IF;
    IF (NEW.state = 'open' AND NEW.editors = '' AND (NEW.action <> OLD.action OR NEW.command <> OLD.command
        OR NEW.subject <> OLD.subject OR NEW.reason <> OLD.reason))
        OR EXISTS (SELECT 1 FROM unnest(string_to_array(OLD.editors, ' ')) e
        WHERE strpos(' ' || NEW.editors || ' ', ' ' || e || ' ') = 0)
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: who has changed it is known for ever';
    END IF;
    IF NEW.decided_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.decided_by AND ended_at IS NULL)
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: decided by somebody who is no operator';
    END IF;
    IF NEW.state = 'done' AND (NEW.subject = 'person ' || NEW.decided_by
        OR EXISTS (SELECT 1 FROM account WHERE owner = NEW.decided_by AND NEW.subject = 'account ' || number))
    THEN
        RAISE check_violation USING MESSAGE = 'proposal: confirmed by whom it is about';
    END IF;
    IF NEW.state = 'done' AND NEW.decided_by IS NULL THEN
        RAISE check_violation USING MESSAGE = 'proposal: carried out by one alone';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER proposal_moves BEFORE UPDATE ON proposal FOR EACH ROW EXECUTE FUNCTION proposal_moves();

CREATE TRIGGER currency_stays BEFORE UPDATE OF code OR DELETE OR TRUNCATE ON currency FOR EACH STATEMENT EXECUTE FUNCTION refused('currencies never vanish');
CREATE TRIGGER transfer_remains BEFORE DELETE OR TRUNCATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION refused('transfers never vanish');
CREATE TRIGGER balance_remains BEFORE DELETE OR TRUNCATE ON balance FOR EACH STATEMENT EXECUTE FUNCTION refused('balances never vanish');
CREATE TRIGGER payment_remains BEFORE DELETE OR TRUNCATE ON payment FOR EACH STATEMENT EXECUTE FUNCTION refused('payments never vanish');
CREATE TRIGGER bank_order_remains BEFORE DELETE OR TRUNCATE ON bank_order FOR EACH STATEMENT EXECUTE FUNCTION refused('bank orders never vanish');
CREATE TRIGGER proposal_remains BEFORE DELETE OR TRUNCATE ON proposal FOR EACH STATEMENT EXECUTE FUNCTION refused('proposals never vanish');
CREATE TRIGGER refund_remains BEFORE DELETE OR TRUNCATE ON refund FOR EACH STATEMENT EXECUTE FUNCTION refused('refunds never vanish');
CREATE TRIGGER counter_remains BEFORE DELETE OR TRUNCATE ON counter FOR EACH STATEMENT EXECUTE FUNCTION refused('counters never vanish');
CREATE TRIGGER event_counter_remains BEFORE DELETE OR TRUNCATE ON event_counter FOR EACH STATEMENT EXECUTE FUNCTION refused('event counters never vanish');
CREATE TRIGGER event_remains BEFORE DELETE OR TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refused('events never vanish');
CREATE TRIGGER audit_remains BEFORE DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refused('audit entries never vanish');
CREATE TRIGGER seal_remains BEFORE DELETE OR TRUNCATE ON seal FOR EACH STATEMENT EXECUTE FUNCTION refused('seals never vanish');
CREATE TRIGGER stop_remains BEFORE DELETE OR TRUNCATE ON stop FOR EACH STATEMENT EXECUTE FUNCTION refused('stops never vanish');
CREATE TRIGGER operator_remains BEFORE DELETE OR TRUNCATE ON operator FOR EACH STATEMENT EXECUTE FUNCTION refused('operators never vanish');
CREATE TRIGGER account_remains BEFORE DELETE OR TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refused('accounts never vanish');
CREATE TRIGGER schema_guard_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON schema_guard FOR EACH STATEMENT EXECUTE FUNCTION refused('guards are never forgotten');
