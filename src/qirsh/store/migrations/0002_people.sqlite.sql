-- People: what they prove who they are with, what they show, what is mailed to them, and what they ask for.

CREATE TABLE passkey (
    id BLOB PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 1023),
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL CHECK (sign_count >= 0),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_person ON passkey (person);

CREATE TABLE challenge (
    purpose TEXT NOT NULL CHECK (purpose IN ('sign-up', 'reset', 'email', 'pin', 'operator')),
    email TEXT NOT NULL,
    person INTEGER REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    code_mac BLOB NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX challenge_expires ON challenge (expires_at);

-- Somebody is to become an operator, or to be one no longer: one operator asks, another confirms.
CREATE TABLE operator_proposal (
    email TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('appoint', 'end')),
    name TEXT NOT NULL,
    person INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    asked_by INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    asked_at INTEGER NOT NULL,
    confirmed_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    confirmed_at INTEGER,
    CHECK ((kind = 'end') = (person IS NOT NULL)),
    CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL)),
    CHECK (confirmed_by <> asked_by AND confirmed_by <> person)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity (
    person INTEGER PRIMARY KEY REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'verified', 'rejected')),
    facts_sealed BLOB NOT NULL,
    reason TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    CHECK ((state = 'submitted') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
    CHECK (decided_by <> person)
) STRICT;
CREATE INDEX identity_waits ON identity (submitted_at) WHERE state = 'submitted';

CREATE TABLE identity_image (
    person INTEGER NOT NULL REFERENCES identity DEFERRABLE INITIALLY DEFERRED,
    side TEXT NOT NULL CHECK (side IN ('front', 'back')),
    sealed BLOB NOT NULL CHECK (length(sealed) > 0),
    PRIMARY KEY (person, side)
) STRICT;

CREATE TABLE business (
    account INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    kind TEXT NOT NULL,
    registration TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;

CREATE TABLE mail (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_due ON mail (due_at);

-- A payout ends once, and is paid only with the money that has moved for it.

CREATE TRIGGER payout_begins BEFORE INSERT ON payout WHEN NEW.state <> 'asked' BEGIN
    SELECT RAISE(ROLLBACK, 'payout: begins asked');
END;
CREATE TRIGGER payout_moves BEFORE UPDATE ON payout BEGIN
    SELECT RAISE(ROLLBACK, 'payout: what was asked for never changes, and an end is an end')
    WHERE NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.amount <> OLD.amount
        OR NEW.created_at <> OLD.created_at OR NOT ((OLD.state = 'asked' AND NEW.state IN ('ordered', 'refused', 'cancelled'))
        OR (OLD.state = 'ordered' AND NEW.state IN ('paid', 'refused') AND NEW.reference = OLD.reference));
    SELECT RAISE(ROLLBACK, 'payout: paid without its confirmed order')
    WHERE NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM bank_order
        WHERE payout = NEW.id AND reference = NEW.reference AND state = 'confirmed' AND account = NEW.account
        AND currency = NEW.currency AND amount = NEW.amount);
END;
CREATE TRIGGER payout_remains BEFORE DELETE ON payout BEGIN SELECT RAISE(ROLLBACK, 'payouts never vanish'); END;
CREATE TRIGGER payout_is_new BEFORE INSERT ON payout WHEN EXISTS (SELECT 1 FROM payout WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'payout: is there already'); END;
