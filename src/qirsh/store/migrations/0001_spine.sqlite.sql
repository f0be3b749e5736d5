-- The first schema: people, accounts, payments, the ledger, events, idempotency, audit.
-- Every rule here is a second lock on a door that the domain already closes: it holds when SQL is typed by hand.
-- Times are milliseconds since 1970, UTC. Amounts are whole minor units.
-- A broken rule rolls the whole transaction back, and references are checked at its end: a statement that could be undone
-- alone would need a journal of its own, which cost a fifth of a pay.

CREATE TABLE constant (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL CHECK (last BETWEEN 0 AND 999999999999999999)
) STRICT, WITHOUT ROWID;

-- Which of several processes plays a role, and until when nobody else may.
CREATE TABLE lease (
    role TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE currency (
    code TEXT PRIMARY KEY,
    exponent INTEGER NOT NULL CHECK (exponent BETWEEN 0 AND 4),
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO currency VALUES ('SYP', 2, '2026-01-01'), ('USD', 2, '1792-04-02'), ('TRY', 2, '2005-01-01'), ('EUR', 2, '1999-01-01');

CREATE TABLE account (
    number INTEGER PRIMARY KEY CHECK (number BETWEEN 100000000000 AND 999999999999),
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'commercial', 'house')),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    owner INTEGER REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    live_account INTEGER REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    return_origins TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    return_url TEXT,
    cancel_url TEXT,
    expires_in_s INTEGER NOT NULL CHECK (expires_in_s BETWEEN 300 AND 604800),
    CHECK ((mode = 'test') = (live_account IS NOT NULL)),
    CHECK ((mode = 'test') = (state = 'mirrored')),
    CHECK (owner IS NOT NULL OR kind = 'house'),
    CHECK (state = 'mirrored' OR CASE kind
        WHEN 'personal' THEN state IN ('unverified', 'verified', 'suspended', 'closed')
        WHEN 'commercial' THEN state IN ('requested', 'approved', 'rejected', 'suspended', 'closed')
        ELSE state = 'open' END)
) STRICT;
CREATE INDEX account_owner ON account (owner);
CREATE INDEX account_twin ON account (live_account) WHERE live_account IS NOT NULL;
CREATE UNIQUE INDEX account_house ON account (name) WHERE kind = 'house' AND mode = 'live';

CREATE TABLE person (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    account INTEGER NOT NULL UNIQUE REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    phone TEXT NOT NULL,
    language TEXT NOT NULL,
    has_notices INTEGER NOT NULL CHECK (has_notices IN (0, 1)),
    session_generation INTEGER NOT NULL CHECK (session_generation >= 0),
    erased_at INTEGER,
    blocked_at INTEGER
) STRICT;

CREATE INDEX person_erased ON person (erased_at) WHERE erased_at IS NOT NULL;

CREATE TABLE login (
    email TEXT PRIMARY KEY,
    person INTEGER NOT NULL UNIQUE REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    password_hash TEXT NOT NULL,
    totp_sealed BLOB,
    created_at INTEGER NOT NULL,
    totp_step INTEGER NOT NULL,
    recovery BLOB NOT NULL,
    wrong_codes INTEGER NOT NULL CHECK (wrong_codes >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE pin (
    person INTEGER PRIMARY KEY REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    mac BLOB NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0)
) STRICT;

CREATE TABLE operator (
    person INTEGER PRIMARY KEY REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    roles TEXT NOT NULL CHECK (roles <> '' AND roles NOT LIKE '_%admin%'), -- In their order: an admin's begin with it.
    created_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    confirmed_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    ended_at INTEGER,
    -- Nobody makes themselves an operator, and two who do it are two.
    CHECK (created_by <> person AND confirmed_by <> person),
    CHECK (confirmed_by <> created_by),
    CHECK (confirmed_by IS NULL OR created_by IS NOT NULL),
    CHECK (ended_at >= created_at)
) STRICT;
-- Only the first operator stands without another who vouches.
CREATE UNIQUE INDEX operator_first ON operator (created_by IS NULL) WHERE created_by IS NULL;

-- What takes two operators: one asks, another decides. Who asked for it, or has changed it since, does not confirm it.
CREATE TABLE proposal (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    action TEXT NOT NULL,
    command TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL CHECK (reason <> ''),
    asked_by INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    asked_at INTEGER NOT NULL,
    editors TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'refused', 'withdrawn', 'lapsed')),
    decided_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    decided_at INTEGER,
    decision TEXT NOT NULL,
    CHECK ((state = 'open') = (decided_at IS NULL)),
    -- Of an appointment that came to nothing no address is kept.
    CHECK ((command = '{}') = (action = 'operator create' AND state IN ('refused', 'withdrawn', 'lapsed'))),
    CHECK (CASE state
        WHEN 'done' THEN decided_by IS NOT asked_by AND (decided_by IS NOT NULL OR action = 'operator create')
        WHEN 'refused' THEN decided_by IS NOT NULL AND decided_by IS NOT asked_by
        WHEN 'withdrawn' THEN decided_by IS asked_by
        ELSE decided_by IS NULL END),
    CHECK (state <> 'done' OR decided_by IS NULL OR instr(' ' || editors || ' ', ' ' || decided_by || ' ') = 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposal_open ON proposal (asked_at, id) WHERE state = 'open';
CREATE INDEX proposal_waits ON proposal (subject) WHERE state = 'open';

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    hint TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    networks TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    replaced_by TEXT REFERENCES api_key DEFERRABLE INITIALLY DEFERRED,
    told_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_account ON api_key (account);
-- Of whose end the owner is to be told.
CREATE INDEX api_key_ends ON api_key (expires_at) WHERE revoked_at IS NULL AND replaced_by IS NULL AND told_at IS NULL;

CREATE TABLE session (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    session_generation INTEGER NOT NULL,
    agent TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_person ON session (person, created_at);

CREATE TABLE payment (
    number INTEGER PRIMARY KEY CHECK (number > 0),
    merchant INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    -- Its account is that of its transfer: a reference of its own, without an index, would read all payments for two new accounts of one commit.
    payer INTEGER,
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'cancelled', 'expired')),
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    reference TEXT,
    return_url TEXT,
    cancel_url TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    paid_at INTEGER,
    cancelled_at INTEGER,
    refunded_amount INTEGER NOT NULL CHECK (refunded_amount BETWEEN 0 AND amount),
    version INTEGER NOT NULL CHECK (version >= 1),
    CHECK ((status = 'paid') = (payer IS NOT NULL AND paid_at IS NOT NULL)),
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CHECK (status = 'paid' OR (refunded_amount = 0 AND payer IS NULL AND paid_at IS NULL))
) STRICT;
CREATE INDEX payment_due ON payment (expires_at) WHERE status = 'pending';
-- A list is merged from one range for each status and currency, so that this index is the only one that lists cost.
CREATE INDEX payment_listed ON payment (merchant, status, currency, created_at);
CREATE INDEX payment_reference ON payment (merchant, reference, created_at) WHERE reference IS NOT NULL;

-- Each refund is its own object and its own transfer, which its sequence names.
CREATE TABLE refund (
    id TEXT PRIMARY KEY,
    payment INTEGER NOT NULL REFERENCES payment DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL CHECK (version BETWEEN 3 AND 22), -- At most 20 of a payment.
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    note TEXT NOT NULL,
    metadata TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX refund_payment ON refund (payment, version);
CREATE UNIQUE INDEX refund_transfer ON refund (payment, sequence);

-- How far the payments of each block of numbers have been looked at, for what lists find them by.
CREATE TABLE indexed_block (
    first INTEGER PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT;

-- What an owner wants to have at the bank; a bank order pays it.
CREATE TABLE payout (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    bank_sealed BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'ordered', 'paid', 'refused', 'cancelled')),
    reference TEXT,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    bank_hint TEXT NOT NULL DEFAULT '' CHECK (length(bank_hint) <= 4),
    sequence INTEGER CHECK (sequence IS NULL OR state = 'paid'), -- Of its transfer.
    CHECK (CASE state WHEN 'ordered' THEN reference IS NOT NULL WHEN 'paid' THEN reference IS NOT NULL WHEN 'refused' THEN TRUE ELSE reference IS NULL END)
) STRICT, WITHOUT ROWID;
CREATE INDEX payout_account ON payout (account, created_at, id);
CREATE UNIQUE INDEX payout_paid ON payout (account, currency, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX payout_open ON payout (created_at) WHERE state IN ('asked', 'ordered');
CREATE INDEX payout_held ON payout (account) WHERE state IN ('asked', 'ordered');
CREATE INDEX payout_asked ON payout (created_at, id) WHERE state = 'asked';

CREATE TABLE bank_order (
    house INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    reference TEXT NOT NULL CHECK (reference <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'withdrawal')),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    proposal TEXT NOT NULL UNIQUE REFERENCES proposal DEFERRABLE INITIALLY DEFERRED,
    booked_at INTEGER NOT NULL,
    payout TEXT REFERENCES payout DEFERRABLE INITIALLY DEFERRED,
    reverses TEXT, -- The reference of the order that it takes back, whole and once.
    PRIMARY KEY (house, reference),
    UNIQUE (house, reverses),
    CHECK (payout IS NULL OR kind = 'withdrawal'),
    CHECK (payout IS NULL OR reverses IS NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_order_reference ON bank_order (reference);
CREATE INDEX bank_order_booked ON bank_order (booked_at, house, reference);

CREATE TABLE balance (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL CHECK (amount BETWEEN -999999999999999999 AND 999999999999999999),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    is_house INTEGER NOT NULL CHECK (is_house IN (0, 1)),
    held INTEGER NOT NULL CHECK (held >= 0), -- Kept for payouts.
    PRIMARY KEY (account, currency),
    CHECK (amount >= 0 OR is_house),
    CHECK (held <= amount OR held = 0)
) STRICT, WITHOUT ROWID;

-- Fees have their place here, but no command makes one yet: the one that will brings its guards along.
CREATE TABLE transfer (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 999999999999999999),
    -- Of a longer list SQLite makes a table each time that it looks.
    kind TEXT NOT NULL CHECK (kind IN ('pay', 'refund') OR kind IN ('deposit', 'withdrawal') OR kind IN ('reversal', 'correction') OR kind = 'mint'),
    debit INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    credit INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    debit_sequence INTEGER NOT NULL,
    debit_balance INTEGER NOT NULL,
    credit_sequence INTEGER NOT NULL,
    credit_balance INTEGER NOT NULL,
    payment INTEGER REFERENCES payment DEFERRABLE INITIALLY DEFERRED,
    bank_order TEXT,
    reverses INTEGER REFERENCES transfer DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    CHECK (debit <> credit),
    CHECK ((kind IN ('pay', 'refund')) = (payment IS NOT NULL)),
    CHECK ((kind IN ('deposit', 'withdrawal') OR kind IN ('reversal', 'correction')) = (bank_order IS NOT NULL)),
    CHECK ((kind = 'reversal') = (reverses IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX transfer_debit ON transfer (debit, currency, debit_sequence);
CREATE UNIQUE INDEX transfer_credit ON transfer (credit, currency, credit_sequence);
CREATE UNIQUE INDEX transfer_pay ON transfer (payment) WHERE kind = 'pay';
CREATE INDEX transfer_refund ON transfer (payment) WHERE kind = 'refund';
-- Several houses may have an order of one reference, for one account: which it is, the other side tells.
CREATE UNIQUE INDEX transfer_bank_order ON transfer (bank_order, debit, credit) WHERE bank_order IS NOT NULL;
CREATE UNIQUE INDEX transfer_reverses ON transfer (reverses) WHERE reverses IS NOT NULL;

CREATE TABLE event_counter (
    account INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    last INTEGER NOT NULL CHECK (last >= 1)
) STRICT;

CREATE TABLE event (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    epoch INTEGER NOT NULL,
    type TEXT NOT NULL,
    payment INTEGER NOT NULL REFERENCES payment DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL CHECK (version >= 2),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, sequence)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX event_payment ON event (payment, version);

-- With a row id, unlike its neighbours: bodies are appended, and only the narrow index has random places.
CREATE TABLE stored_response (
    account INTEGER NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 200 AND 299),
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 999999999999999999),
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_money ON audit (subject) WHERE action IN ('money.stopped', 'money.resumed');

-- The chain of hashes over audit entries, transfers and credential entries; docs/audit-chain.md says what a content holds.
CREATE TABLE seal (
    number INTEGER PRIMARY KEY CHECK (number >= 1),
    at INTEGER NOT NULL,
    content TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- Money stands still while one is open.
CREATE TABLE stop (
    id INTEGER PRIMARY KEY CHECK (id >= 1),
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    lifted_at INTEGER,
    lifted_by TEXT,
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
) STRICT;
CREATE UNIQUE INDEX stop_open ON stop (lifted_at IS NULL) WHERE lifted_at IS NULL;

-- The ledger is append-only, and every row follows the one before it on both its sides.

CREATE TRIGGER transfer_follows BEFORE INSERT ON transfer BEGIN
    -- Live accounts name no live account; a test account belongs to the one it names.
    SELECT RAISE(ROLLBACK, 'transfer: across modes or across merchants')
    WHERE (SELECT live_account FROM account WHERE number = NEW.debit) IS NOT (SELECT live_account FROM account WHERE number = NEW.credit);
    SELECT RAISE(ROLLBACK, 'transfer: the debit side does not follow its predecessor')
    WHERE NEW.debit_balance IS NOT CASE WHEN NEW.debit_sequence = 1 THEN -NEW.amount ELSE
        coalesce(
            (SELECT debit_balance FROM transfer WHERE debit = NEW.debit AND currency = NEW.currency AND debit_sequence = NEW.debit_sequence - 1),
            (SELECT credit_balance FROM transfer WHERE credit = NEW.debit AND currency = NEW.currency AND credit_sequence = NEW.debit_sequence - 1)
        ) - NEW.amount END
    OR EXISTS (SELECT 1 FROM transfer WHERE credit = NEW.debit AND currency = NEW.currency AND credit_sequence = NEW.debit_sequence);
    SELECT RAISE(ROLLBACK, 'transfer: the credit side does not follow its predecessor')
    WHERE NEW.credit_balance IS NOT CASE WHEN NEW.credit_sequence = 1 THEN NEW.amount ELSE
        coalesce(
            (SELECT credit_balance FROM transfer WHERE credit = NEW.credit AND currency = NEW.currency AND credit_sequence = NEW.credit_sequence - 1),
            (SELECT debit_balance FROM transfer WHERE debit = NEW.credit AND currency = NEW.currency AND debit_sequence = NEW.credit_sequence - 1)
        ) + NEW.amount END
    OR EXISTS (SELECT 1 FROM transfer WHERE debit = NEW.credit AND currency = NEW.currency AND debit_sequence = NEW.credit_sequence);
    SELECT RAISE(ROLLBACK, 'transfer: below zero')
    WHERE NEW.debit_balance < 0 AND (NEW.kind NOT IN ('deposit', 'mint', 'reversal', 'correction')
        OR (SELECT kind FROM account WHERE number = NEW.debit) <> 'house');
END;
CREATE TRIGGER transfer_pays BEFORE INSERT ON transfer WHEN NEW.kind = 'pay' BEGIN
    SELECT RAISE(ROLLBACK, 'transfer: does not match the payment')
    WHERE NOT EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND status = 'pending'
        AND merchant = NEW.credit AND amount = NEW.amount AND currency = NEW.currency)
    OR (SELECT kind FROM account WHERE number = NEW.debit) <> 'personal';
END;
CREATE TRIGGER transfer_refunds BEFORE INSERT ON transfer WHEN NEW.kind = 'refund' BEGIN
    SELECT RAISE(ROLLBACK, 'transfer: does not match the payment it refunds')
    WHERE NOT EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND status = 'paid'
        AND merchant = NEW.debit AND payer = NEW.credit AND currency = NEW.currency
        AND amount - NEW.amount >= (SELECT coalesce(sum(amount), 0) FROM transfer WHERE payment = NEW.payment AND kind = 'refund'));
END;
CREATE TRIGGER transfer_mints BEFORE INSERT ON transfer WHEN NEW.kind = 'mint' BEGIN
    SELECT RAISE(ROLLBACK, 'transfer: only a test mint mints')
    WHERE NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.debit AND kind = 'house' AND mode = 'test');
END;
CREATE TRIGGER transfer_cash BEFORE INSERT ON transfer
WHEN NEW.kind IN ('deposit', 'withdrawal') OR NEW.kind IN ('reversal', 'correction') BEGIN
    SELECT RAISE(ROLLBACK, 'transfer: does not match the bank order')
    WHERE NOT EXISTS (SELECT 1 FROM bank_order o JOIN account h ON h.number = o.house
        WHERE o.reference = NEW.bank_order AND o.house IN (NEW.debit, NEW.credit)
        AND o.house = iif(o.kind = 'deposit', NEW.debit, NEW.credit) AND o.account = iif(o.kind = 'deposit', NEW.credit, NEW.debit)
        AND NEW.kind = CASE WHEN o.reverses IS NOT NULL THEN 'reversal' WHEN h.name = 'corrections' THEN 'correction' ELSE o.kind END
        AND o.amount = NEW.amount AND o.currency = NEW.currency);
    SELECT RAISE(ROLLBACK, 'transfer: does not match the one that it reverses')
    WHERE NEW.kind = 'reversal' AND NOT EXISTS (SELECT 1 FROM bank_order o JOIN transfer t ON t.bank_order = o.reverses
        WHERE o.reference = NEW.bank_order AND o.house IN (NEW.debit, NEW.credit)
        AND t.id = NEW.reverses AND t.debit = NEW.credit AND t.credit = NEW.debit);
END;
CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer BEGIN SELECT RAISE(ROLLBACK, 'transfers never change'); END;
CREATE TRIGGER transfer_remains BEFORE DELETE ON transfer BEGIN SELECT RAISE(ROLLBACK, 'transfers never vanish'); END;

CREATE TRIGGER balance_begins BEFORE INSERT ON balance BEGIN
    SELECT RAISE(ROLLBACK, 'balance: only a house account may go below zero')
    WHERE NEW.is_house IS NOT (SELECT kind = 'house' FROM account WHERE number = NEW.account);
    SELECT RAISE(ROLLBACK, 'balance: is not what its last transfer left')
    WHERE NEW.amount IS NOT coalesce(
        (SELECT debit_balance FROM transfer WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence),
        (SELECT credit_balance FROM transfer WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence));
END;
CREATE TRIGGER balance_follows BEFORE UPDATE ON balance BEGIN
    SELECT RAISE(ROLLBACK, 'balance: its account, currency and kind never change')
    WHERE NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.is_house <> OLD.is_house;
    SELECT RAISE(ROLLBACK, 'balance: is not what its last transfer left')
    WHERE NEW.sequence < OLD.sequence OR NEW.amount IS NOT coalesce(
        (SELECT debit_balance FROM transfer WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence),
        (SELECT credit_balance FROM transfer WHERE credit = NEW.account AND currency = NEW.currency AND credit_sequence = NEW.sequence));
END;
CREATE TRIGGER balance_remains BEFORE DELETE ON balance BEGIN SELECT RAISE(ROLLBACK, 'balances never vanish'); END;

-- A payment begins pending, moves once, and keeps what it was asked with.

CREATE TRIGGER payment_begins BEFORE INSERT ON payment WHEN NEW.status <> 'pending' OR NEW.version <> 1 BEGIN
    SELECT RAISE(ROLLBACK, 'payment: begins pending, at version 1');
END;
CREATE TRIGGER payment_moves BEFORE UPDATE ON payment BEGIN
    SELECT RAISE(ROLLBACK, 'payment: what was asked never changes')
    WHERE NEW.number <> OLD.number OR NEW.merchant <> OLD.merchant OR NEW.amount <> OLD.amount OR NEW.currency <> OLD.currency
        OR NEW.note <> OLD.note OR NEW.metadata <> OLD.metadata OR NEW.reference IS NOT OLD.reference
        OR NEW.return_url IS NOT OLD.return_url OR NEW.cancel_url IS NOT OLD.cancel_url
        OR NEW.created_at <> OLD.created_at OR NEW.expires_at <> OLD.expires_at;
    SELECT RAISE(ROLLBACK, 'payment: a final state is final')
    WHERE OLD.status <> 'pending' AND (NEW.status <> OLD.status OR NEW.payer IS NOT OLD.payer
        OR NEW.paid_at IS NOT OLD.paid_at OR NEW.cancelled_at IS NOT OLD.cancelled_at);
    SELECT RAISE(ROLLBACK, 'payment: its version only grows')
    WHERE NEW.version <= OLD.version;
    SELECT RAISE(ROLLBACK, 'payment: refunds only grow')
    WHERE NEW.refunded_amount < OLD.refunded_amount;
    SELECT RAISE(ROLLBACK, 'payment: paid without its transfer')
    WHERE OLD.status = 'pending' AND NEW.status = 'paid' AND NOT EXISTS (SELECT 1 FROM transfer
        WHERE payment = NEW.number AND kind = 'pay' AND debit = NEW.payer AND credit = NEW.merchant
        AND amount = NEW.amount AND currency = NEW.currency);
    SELECT RAISE(ROLLBACK, 'payment: refunded without transfers')
    WHERE NEW.refunded_amount > OLD.refunded_amount AND NEW.refunded_amount IS NOT
        (SELECT sum(amount) FROM transfer WHERE payment = NEW.number AND kind = 'refund');
    SELECT RAISE(ROLLBACK, 'payment: refunded without a refund')
    WHERE NEW.refunded_amount > OLD.refunded_amount AND NEW.refunded_amount IS NOT
        (SELECT sum(amount) FROM refund WHERE payment = NEW.number);
    -- A merchant ends a test payment at will, to see what follows.
    SELECT RAISE(ROLLBACK, 'payment: expired before its time')
    WHERE NEW.status = 'expired' AND OLD.status = 'pending' AND NEW.updated_at < OLD.expires_at
        AND (SELECT mode FROM account WHERE number = NEW.merchant) IS NOT 'test';
END;
CREATE TRIGGER payment_remains BEFORE DELETE ON payment BEGIN SELECT RAISE(ROLLBACK, 'payments never vanish'); END;

CREATE TRIGGER refund_follows BEFORE INSERT ON refund BEGIN
    SELECT RAISE(ROLLBACK, 'refund: without its transfer')
    WHERE NOT EXISTS (SELECT 1 FROM payment p JOIN transfer t
        ON t.debit = p.merchant AND t.currency = p.currency AND t.debit_sequence = NEW.sequence
        WHERE p.number = NEW.payment AND t.kind = 'refund' AND t.payment = NEW.payment AND t.amount = NEW.amount);
END;
CREATE TRIGGER refund_stays BEFORE UPDATE ON refund BEGIN SELECT RAISE(ROLLBACK, 'refunds never change'); END;
CREATE TRIGGER refund_remains BEFORE DELETE ON refund BEGIN SELECT RAISE(ROLLBACK, 'refunds never vanish'); END;

CREATE TRIGGER bank_order_begins BEFORE INSERT ON bank_order BEGIN
    SELECT RAISE(ROLLBACK, 'bank order: is not what two operators agreed to')
    WHERE NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done'
        AND (p.action, p.command ->> 'type') = (SELECT CASE WHEN NEW.reverses IS NOT NULL THEN 'reversal'
            WHEN h.name = 'corrections' THEN 'correction' WHEN NEW.payout IS NOT NULL THEN 'payout' ELSE NEW.kind END,
            CASE WHEN NEW.reverses IS NOT NULL THEN 'ReverseBankTransfer' WHEN h.name = 'corrections' THEN 'CorrectBalance'
            ELSE 'BookBankTransfer' END FROM account h WHERE h.number = NEW.house AND h.kind = 'house')
        AND p.command ->> 'kind' = NEW.kind AND p.command ->> 'reverses' IS NEW.reverses
        AND p.command ->> 'house' = NEW.house AND p.command ->> 'reference' = NEW.reference
        AND p.command ->> 'account' = NEW.account AND p.command ->> 'currency' = NEW.currency
        AND p.command ->> 'amount' = NEW.amount AND p.command ->> 'payout' IS NEW.payout);
    SELECT RAISE(ROLLBACK, 'bank order: an operator decides on their own account')
    WHERE EXISTS (SELECT 1 FROM proposal p JOIN account a ON a.owner IN (p.asked_by, p.decided_by)
        WHERE p.id = NEW.proposal AND a.number = NEW.account);
    SELECT RAISE(ROLLBACK, 'bank order: does not match the payout')
    WHERE NEW.payout IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payout WHERE id = NEW.payout AND state = 'ordered'
        AND reference = NEW.reference AND account = NEW.account AND currency = NEW.currency AND amount = NEW.amount);
    SELECT RAISE(ROLLBACK, 'bank order: does not match the one that it reverses')
    WHERE NEW.reverses IS NOT NULL AND (EXISTS (SELECT 1 FROM account WHERE number = NEW.house AND name = 'corrections')
        OR NOT EXISTS (SELECT 1 FROM bank_order WHERE house = NEW.house AND reference = NEW.reverses AND reverses IS NULL
            AND kind <> NEW.kind AND account = NEW.account AND currency = NEW.currency AND amount = NEW.amount));
END;
CREATE TRIGGER bank_order_stays BEFORE UPDATE ON bank_order BEGIN SELECT RAISE(ROLLBACK, 'bank orders never change'); END;
CREATE TRIGGER bank_order_remains BEFORE DELETE ON bank_order BEGIN SELECT RAISE(ROLLBACK, 'bank orders never vanish'); END;

-- Events tell of changes that happened, one each, without gaps.

CREATE TRIGGER event_follows BEFORE INSERT ON event BEGIN
    SELECT RAISE(ROLLBACK, 'event: leaves a gap')
    WHERE NEW.sequence > 1 AND NOT EXISTS (SELECT 1 FROM event WHERE account = NEW.account AND sequence = NEW.sequence - 1);
    SELECT RAISE(ROLLBACK, 'event: without its change')
    WHERE NOT EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND merchant = NEW.account AND version >= NEW.version);
END;
-- Written after the events that it counts.
CREATE TRIGGER event_counter_begins BEFORE INSERT ON event_counter BEGIN
    SELECT RAISE(ROLLBACK, 'event counter: does not stand at the last event')
    WHERE NEW.last IS NOT (SELECT max(sequence) FROM event WHERE account = NEW.account);
END;
CREATE TRIGGER event_counter_follows BEFORE UPDATE ON event_counter BEGIN
    SELECT RAISE(ROLLBACK, 'event counter: does not stand at the last event')
    WHERE NEW.account <> OLD.account OR NEW.last IS NOT (SELECT max(sequence) FROM event WHERE account = NEW.account);
END;
CREATE TRIGGER event_counter_remains BEFORE DELETE ON event_counter BEGIN SELECT RAISE(ROLLBACK, 'event counters never vanish'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ROLLBACK, 'events never change'); END;
CREATE TRIGGER event_remains BEFORE DELETE ON event BEGIN SELECT RAISE(ROLLBACK, 'events never vanish'); END;

-- A number that was given must not be given again. Other counters say how many there are, and may fall.
CREATE TRIGGER counter_grows BEFORE UPDATE ON counter
WHEN NEW.name <> OLD.name OR (NEW.last < OLD.last AND OLD.name IN ('payment', 'person', 'account', 'revocation', 'notified', 'totalled'))
BEGIN SELECT RAISE(ROLLBACK, 'counter: numbers are never given again'); END;
CREATE TRIGGER counter_remains BEFORE DELETE ON counter BEGIN SELECT RAISE(ROLLBACK, 'counters never vanish'); END;

-- Without these no public id could be read again. Only a restore raises the epoch; a new secret seals its check anew.
CREATE TRIGGER constant_stays BEFORE UPDATE ON constant WHEN OLD.name NOT IN ('epoch', 'secret_check') OR NEW.name <> OLD.name
BEGIN SELECT RAISE(ROLLBACK, 'constants never change'); END;
CREATE TRIGGER constant_remains BEFORE DELETE ON constant BEGIN SELECT RAISE(ROLLBACK, 'constants never vanish'); END;
CREATE TRIGGER constant_is_new BEFORE INSERT ON constant WHEN EXISTS (SELECT 1 FROM constant WHERE name = NEW.name)
BEGIN SELECT RAISE(ROLLBACK, 'constants are never replaced'); END;

CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ROLLBACK, 'audit entries never change'); END;
CREATE TRIGGER audit_remains BEFORE DELETE ON audit BEGIN SELECT RAISE(ROLLBACK, 'audit entries never vanish'); END;

CREATE TRIGGER seal_follows BEFORE INSERT ON seal BEGIN
    SELECT RAISE(ROLLBACK, 'seal: does not follow its predecessor')
    WHERE NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM seal)
        OR instr(NEW.content, 'qirsh seal 1' || char(10) || 'number ' || NEW.number || char(10) || 'at ' || NEW.at || char(10)
        || 'previous ' || coalesce((SELECT lower(hex(hash)) FROM seal WHERE number = NEW.number - 1), lower(hex(zeroblob(32))))
        || char(10)) <> 1;
END;
CREATE TRIGGER seal_stays BEFORE UPDATE ON seal BEGIN SELECT RAISE(ROLLBACK, 'seals never change'); END;
CREATE TRIGGER seal_remains BEFORE DELETE ON seal BEGIN SELECT RAISE(ROLLBACK, 'seals never vanish'); END;

CREATE TRIGGER stop_begins BEFORE INSERT ON stop
WHEN NEW.lifted_at IS NOT NULL OR NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM stop)
BEGIN SELECT RAISE(ROLLBACK, 'stop: begins open, after the one before it'); END;
CREATE TRIGGER stop_lifts BEFORE UPDATE ON stop
WHEN OLD.lifted_at IS NOT NULL OR NEW.lifted_at IS NULL OR NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.reason <> OLD.reason
BEGIN SELECT RAISE(ROLLBACK, 'stop: is lifted once, and changes in nothing else'); END;
CREATE TRIGGER stop_remains BEFORE DELETE ON stop BEGIN SELECT RAISE(ROLLBACK, 'stops never vanish'); END;

CREATE TRIGGER account_stays BEFORE UPDATE ON account BEGIN
    SELECT RAISE(ROLLBACK, 'account: its number, kind, mode, owner and live account never change')
    WHERE NEW.number <> OLD.number OR NEW.kind <> OLD.kind OR NEW.mode <> OLD.mode
        OR NEW.owner IS NOT OLD.owner OR NEW.live_account IS NOT OLD.live_account;
    -- By its name it is known what a house account is for.
    SELECT RAISE(ROLLBACK, 'account: the name of a house account never changes')
    WHERE OLD.kind = 'house' AND NEW.name <> OLD.name;
END;
CREATE TRIGGER account_remains BEFORE DELETE ON account BEGIN SELECT RAISE(ROLLBACK, 'accounts never vanish'); END;

-- REPLACE takes the row that is in its way without asking the triggers above, so a new row must be new in every key.
-- Where no id is given, NEW.id is -1 here.

CREATE TRIGGER transfer_is_new BEFORE INSERT ON transfer
WHEN EXISTS (SELECT 1 FROM transfer WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM transfer WHERE debit = NEW.debit AND currency = NEW.currency AND debit_sequence = NEW.debit_sequence)
    OR EXISTS (SELECT 1 FROM transfer WHERE credit = NEW.credit AND currency = NEW.currency AND credit_sequence = NEW.credit_sequence)
    OR (NEW.kind = 'pay' AND EXISTS (SELECT 1 FROM transfer WHERE payment = NEW.payment AND kind = 'pay'))
    OR (NEW.bank_order IS NOT NULL AND EXISTS (SELECT 1 FROM transfer WHERE bank_order = NEW.bank_order
        AND debit = NEW.debit AND credit = NEW.credit))
    OR (NEW.reverses IS NOT NULL AND EXISTS (SELECT 1 FROM transfer WHERE reverses = NEW.reverses))
BEGIN SELECT RAISE(ROLLBACK, 'transfers are never replaced'); END;
-- After the largest of all ids there would be no order any more.
CREATE TRIGGER transfer_is_next BEFORE INSERT ON transfer
WHEN NEW.id <> -1 AND NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM transfer)
BEGIN SELECT RAISE(ROLLBACK, 'transfer: its id is not the next'); END;
CREATE TRIGGER audit_is_next BEFORE INSERT ON audit
WHEN NEW.id <> -1 AND NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ROLLBACK, 'audit: its id is not the next'); END;
CREATE TRIGGER counter_is_new BEFORE INSERT ON counter
WHEN EXISTS (SELECT 1 FROM counter WHERE name = NEW.name)
BEGIN SELECT RAISE(ROLLBACK, 'counters are never replaced'); END;
CREATE TRIGGER event_counter_is_new BEFORE INSERT ON event_counter
WHEN EXISTS (SELECT 1 FROM event_counter WHERE account = NEW.account)
BEGIN SELECT RAISE(ROLLBACK, 'event counters are never replaced'); END;
CREATE TRIGGER balance_is_new BEFORE INSERT ON balance
WHEN EXISTS (SELECT 1 FROM balance WHERE account = NEW.account AND currency = NEW.currency)
BEGIN SELECT RAISE(ROLLBACK, 'balances are never replaced'); END;
CREATE TRIGGER payment_is_new BEFORE INSERT ON payment
WHEN EXISTS (SELECT 1 FROM payment WHERE number = NEW.number)
BEGIN SELECT RAISE(ROLLBACK, 'payments are never replaced'); END;
CREATE TRIGGER refund_is_new BEFORE INSERT ON refund
WHEN EXISTS (SELECT 1 FROM refund WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM refund WHERE payment = NEW.payment AND version = NEW.version)
    OR EXISTS (SELECT 1 FROM refund WHERE payment = NEW.payment AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ROLLBACK, 'refunds are never replaced'); END;
CREATE TRIGGER bank_order_is_new BEFORE INSERT ON bank_order
WHEN EXISTS (SELECT 1 FROM bank_order WHERE house = NEW.house AND reference = NEW.reference)
    OR EXISTS (SELECT 1 FROM bank_order WHERE proposal = NEW.proposal)
    OR (NEW.reverses IS NOT NULL AND EXISTS (SELECT 1 FROM bank_order WHERE house = NEW.house AND reverses = NEW.reverses))
BEGIN SELECT RAISE(ROLLBACK, 'bank orders are never replaced'); END;
CREATE TRIGGER event_is_new BEFORE INSERT ON event
WHEN EXISTS (SELECT 1 FROM event WHERE account = NEW.account AND sequence = NEW.sequence)
    OR EXISTS (SELECT 1 FROM event WHERE payment = NEW.payment AND version = NEW.version)
BEGIN SELECT RAISE(ROLLBACK, 'events are never replaced'); END;
CREATE TRIGGER audit_is_new BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'audit entries are never replaced'); END;
CREATE TRIGGER seal_is_new BEFORE INSERT ON seal
WHEN EXISTS (SELECT 1 FROM seal WHERE number = NEW.number)
BEGIN SELECT RAISE(ROLLBACK, 'seals are never replaced'); END;
CREATE TRIGGER stop_is_new BEFORE INSERT ON stop
WHEN EXISTS (SELECT 1 FROM stop WHERE id = NEW.id OR lifted_at IS NULL)
BEGIN SELECT RAISE(ROLLBACK, 'stops are never replaced'); END;
CREATE TRIGGER account_is_new BEFORE INSERT ON account
WHEN EXISTS (SELECT 1 FROM account WHERE number = NEW.number)
    OR (NEW.kind = 'house' AND NEW.mode = 'live'
        AND EXISTS (SELECT 1 FROM account WHERE name = NEW.name AND kind = 'house' AND mode = 'live'))
BEGIN SELECT RAISE(ROLLBACK, 'accounts are never replaced'); END;
CREATE TRIGGER account_house_stays BEFORE UPDATE OF name ON account
WHEN NEW.kind = 'house' AND NEW.mode = 'live'
    AND EXISTS (SELECT 1 FROM account WHERE name = NEW.name AND kind = 'house' AND mode = 'live' AND number <> NEW.number)
BEGIN SELECT RAISE(ROLLBACK, 'accounts are never replaced'); END;
CREATE TRIGGER operator_is_new BEFORE INSERT ON operator
WHEN EXISTS (SELECT 1 FROM operator WHERE person = NEW.person)
    OR (NEW.created_by IS NULL AND EXISTS (SELECT 1 FROM operator WHERE created_by IS NULL))
BEGIN SELECT RAISE(ROLLBACK, 'operators are never replaced'); END;
-- Whoever makes one is one already, so nobody comes by themselves, also not in a circle.
CREATE TRIGGER operator_begins BEFORE INSERT ON operator WHEN NEW.created_by IS NOT NULL BEGIN
    SELECT RAISE(ROLLBACK, 'operator: made by somebody who is none')
    WHERE NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.created_by AND ended_at IS NULL)
        OR (NEW.confirmed_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.confirmed_by AND ended_at IS NULL));
    SELECT RAISE(ROLLBACK, 'operator: made by one alone while there are others')
    WHERE NEW.confirmed_by IS NULL AND EXISTS (SELECT 1 FROM operator
        WHERE person <> NEW.created_by AND ended_at IS NULL AND roles GLOB 'admin*');
END;
CREATE TRIGGER operator_stays BEFORE UPDATE ON operator
WHEN OLD.ended_at IS NOT NULL OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at
    OR NEW.created_by IS NOT OLD.created_by OR NEW.confirmed_by IS NOT OLD.confirmed_by
BEGIN SELECT RAISE(ROLLBACK, 'operators get other roles and end once, and never change otherwise'); END;
CREATE TRIGGER operator_remains BEFORE DELETE ON operator BEGIN SELECT RAISE(ROLLBACK, 'operators never vanish'); END;

CREATE TRIGGER proposal_is_new BEFORE INSERT ON proposal WHEN EXISTS (SELECT 1 FROM proposal WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'proposals are never replaced'); END;
CREATE TRIGGER proposal_begins BEFORE INSERT ON proposal BEGIN
    SELECT RAISE(ROLLBACK, 'proposal: by somebody who is no operator')
    WHERE NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.asked_by AND ended_at IS NULL)
        OR (NEW.decided_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.decided_by AND ended_at IS NULL));
    SELECT RAISE(ROLLBACK, 'proposal: confirmed by whom it is about')
    WHERE NEW.state = 'done' AND (NEW.subject = 'person ' || NEW.decided_by
        OR EXISTS (SELECT 1 FROM account WHERE owner = NEW.decided_by AND NEW.subject = 'account ' || number));
    SELECT RAISE(ROLLBACK, 'proposal: carried out by one alone while there are others')
    WHERE NEW.state = 'done' AND NEW.decided_by IS NULL AND EXISTS (SELECT 1 FROM operator
        WHERE person <> NEW.asked_by AND ended_at IS NULL AND roles GLOB 'admin*');
END;
CREATE TRIGGER proposal_moves BEFORE UPDATE ON proposal BEGIN
    SELECT RAISE(ROLLBACK, 'proposal: is decided once, as it was shown')
    WHERE OLD.state <> 'open' OR NEW.id <> OLD.id OR NEW.asked_by <> OLD.asked_by OR NEW.asked_at <> OLD.asked_at
        OR (NEW.state <> 'open' AND (NEW.action <> OLD.action OR (NEW.command <> OLD.command AND NEW.command <> '{}')
        OR NEW.subject <> OLD.subject OR NEW.reason <> OLD.reason OR NEW.editors <> OLD.editors));
    SELECT RAISE(ROLLBACK, 'proposal: who has changed it is known for ever')
    WHERE (NEW.state = 'open' AND NEW.editors = '' AND (NEW.action <> OLD.action OR NEW.command <> OLD.command
        OR NEW.subject <> OLD.subject OR NEW.reason <> OLD.reason))
        OR EXISTS (SELECT 1 FROM json_each('[' || replace(OLD.editors, ' ', ',') || ']') e
        WHERE instr(' ' || NEW.editors || ' ', ' ' || e.value || ' ') = 0);
    SELECT RAISE(ROLLBACK, 'proposal: decided by somebody who is no operator')
    WHERE NEW.decided_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.decided_by AND ended_at IS NULL);
    SELECT RAISE(ROLLBACK, 'proposal: confirmed by whom it is about')
    WHERE NEW.state = 'done' AND (NEW.subject = 'person ' || NEW.decided_by
        OR EXISTS (SELECT 1 FROM account WHERE owner = NEW.decided_by AND NEW.subject = 'account ' || number));
    SELECT RAISE(ROLLBACK, 'proposal: carried out by one alone')
    WHERE NEW.state = 'done' AND NEW.decided_by IS NULL;
END;
CREATE TRIGGER proposal_remains BEFORE DELETE ON proposal BEGIN SELECT RAISE(ROLLBACK, 'proposals never vanish'); END;
