-- People, for PostgreSQL: the same tables and guards as 0002_people.sqlite.sql.

CREATE TABLE passkey (
    id BYTEA PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 1023),
    person BIGINT NOT NULL REFERENCES person,
    public_key BYTEA NOT NULL,
    sign_count BIGINT NOT NULL CHECK (sign_count >= 0),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX passkey_person ON passkey (person);

CREATE TABLE challenge (
    purpose TEXT NOT NULL CHECK (purpose IN ('sign-up', 'reset', 'email', 'pin', 'operator')),
    email TEXT NOT NULL,
    person BIGINT REFERENCES person,
    token_hash BYTEA NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    code_mac BYTEA NOT NULL,
    failures BIGINT NOT NULL CHECK (failures >= 0),
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (purpose, email)
);
CREATE INDEX challenge_expires ON challenge (expires_at);

-- Somebody is to become an operator, or to be one no longer: one operator asks, another confirms.
CREATE TABLE operator_proposal (
    email TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('appoint', 'end')),
    name TEXT NOT NULL,
    person BIGINT REFERENCES operator,
    asked_by BIGINT NOT NULL REFERENCES operator,
    asked_at BIGINT NOT NULL,
    confirmed_by BIGINT REFERENCES operator,
    confirmed_at BIGINT,
    CHECK ((kind = 'end') = (person IS NOT NULL)),
    CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL)),
    CHECK (confirmed_by <> asked_by AND confirmed_by <> person)
);

CREATE TABLE identity (
    person BIGINT PRIMARY KEY REFERENCES person,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'verified', 'rejected')),
    facts_sealed BYTEA NOT NULL,
    reason TEXT NOT NULL,
    submitted_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by BIGINT REFERENCES operator,
    CHECK ((state = 'submitted') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
    CHECK (decided_by <> person)
);
CREATE INDEX identity_waits ON identity (submitted_at) WHERE state = 'submitted';

CREATE TABLE identity_image (
    person BIGINT NOT NULL REFERENCES identity,
    side TEXT NOT NULL CHECK (side IN ('front', 'back')),
    sealed BYTEA NOT NULL CHECK (length(sealed) > 0),
    PRIMARY KEY (person, side)
);

CREATE TABLE business (
    account BIGINT PRIMARY KEY REFERENCES account,
    kind TEXT NOT NULL,
    registration TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE TABLE mail (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0)
);
CREATE INDEX mail_due ON mail (due_at);

-- A payout ends once, and is paid only with the money that has moved for it.

CREATE TRIGGER payout_begins BEFORE INSERT ON payout FOR EACH ROW
    WHEN (NEW.state <> 'asked') EXECUTE FUNCTION refused('payout: begins asked');
CREATE FUNCTION payout_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.amount <> OLD.amount
        OR NEW.created_at <> OLD.created_at OR NOT ((OLD.state = 'asked' AND NEW.state IN ('ordered', 'refused', 'cancelled'))
        OR (OLD.state = 'ordered' AND NEW.state IN ('paid', 'refused') AND NEW.reference = OLD.reference))
    THEN
        RAISE check_violation USING MESSAGE = 'payout: what was asked for never changes, and an end is an end';
    END IF;
    IF NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM bank_order
        WHERE payout = NEW.id AND reference = NEW.reference AND state = 'confirmed' AND account = NEW.account
        AND currency = NEW.currency AND amount = NEW.amount)
    THEN
        RAISE check_violation USING MESSAGE = 'payout: paid without its confirmed order';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payout_moves BEFORE UPDATE ON payout FOR EACH ROW EXECUTE FUNCTION payout_moves();
CREATE TRIGGER payout_remains BEFORE DELETE OR TRUNCATE ON payout FOR EACH STATEMENT EXECUTE FUNCTION refused('payouts never vanish');
