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
    purpose TEXT NOT NULL CHECK (purpose IN ('sign-up', 'reset', 'email', 'pin', 'factor', 'operator', 'passkey')),
    email TEXT NOT NULL,
    person INTEGER REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    code_mac BLOB NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX challenge_expires ON challenge (expires_at);

-- Somebody is to become an operator: a link was mailed.
CREATE TABLE appointment (
    email TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    roles TEXT NOT NULL CHECK (roles <> ''),
    proposal TEXT NOT NULL REFERENCES proposal DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TABLE identity (
    person INTEGER PRIMARY KEY REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'verified', 'rejected')),
    facts_sealed BLOB NOT NULL,
    reason TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    because TEXT NOT NULL CHECK (because IN ('', 'not_readable', 'not_whole', 'out_of_date', 'other_details', 'wrong_document', 'other')),
    document_mac BLOB NOT NULL,
    CHECK ((because <> '') = (state = 'rejected')),
    CHECK ((state = 'submitted') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
    CHECK (decided_by <> person)
) STRICT;
CREATE INDEX identity_waits ON identity (submitted_at) WHERE state = 'submitted';
-- Whether one document is on several accounts.
CREATE INDEX identity_document ON identity (document_mac);

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
    reason TEXT NOT NULL,
    needs_two_step INTEGER NOT NULL CHECK (needs_two_step IN (0, 1)),
    time_zone TEXT NOT NULL
) STRICT;

CREATE TABLE mail (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    is_urgent INTEGER NOT NULL CHECK (is_urgent IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_due ON mail (is_urgent DESC, due_at);

-- Who becomes an operator, and in which roles, is what was agreed to.

CREATE TRIGGER appointment_begins BEFORE INSERT ON appointment
WHEN NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done' AND p.action = 'operator create'
    AND p.command ->> 'email' = NEW.email AND p.command ->> 'name' = NEW.name AND p.command ->> 'roles' = NEW.roles)
BEGIN SELECT RAISE(ROLLBACK, 'appointment: is not what was agreed to'); END;
CREATE TRIGGER appointment_moves BEFORE UPDATE ON appointment
WHEN NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done' AND p.action = 'operator create'
    AND p.command ->> 'email' = NEW.email AND p.command ->> 'name' = NEW.name AND p.command ->> 'roles' = NEW.roles)
BEGIN SELECT RAISE(ROLLBACK, 'appointment: is not what was agreed to'); END;

-- A payout ends once, and is paid only with the money that has moved for it.

CREATE TRIGGER payout_begins BEFORE INSERT ON payout WHEN NEW.state <> 'asked' BEGIN
    SELECT RAISE(ROLLBACK, 'payout: begins asked');
END;
CREATE TRIGGER payout_moves BEFORE UPDATE ON payout BEGIN
    SELECT RAISE(ROLLBACK, 'payout: what was asked for never changes, and an end is an end')
    WHERE NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.amount <> OLD.amount
        OR NEW.created_at <> OLD.created_at OR NEW.bank_hint <> OLD.bank_hint OR NOT ((OLD.state = 'asked' AND NEW.state IN ('ordered', 'refused', 'cancelled'))
        OR (OLD.state = 'ordered' AND (NEW.state IN ('asked', 'ordered')
        OR (NEW.state = 'paid' AND NEW.reference = OLD.reference))));
    SELECT RAISE(ROLLBACK, 'payout: its bank details stay until its end, and are gone then')
    WHERE NEW.bank_sealed <> iif(NEW.state IN ('asked', 'ordered'), OLD.bank_sealed, x'');
    SELECT RAISE(ROLLBACK, 'payout: ordered without its proposal')
    WHERE NEW.state = 'ordered' AND NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'account ' || NEW.account AND p.state = 'open' AND p.action = 'payout'
        AND p.command ->> 'payout' = NEW.id AND p.command ->> 'reference' = NEW.reference);
    SELECT RAISE(ROLLBACK, 'payout: put back while its proposal is open')
    WHERE NEW.state = 'asked' AND (NEW.reference IS NOT NULL OR EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'account ' || NEW.account AND p.state = 'open' AND p.action = 'payout'
        AND p.command ->> 'payout' = NEW.id));
    SELECT RAISE(ROLLBACK, 'payout: paid without its order')
    WHERE NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM bank_order
        WHERE payout = NEW.id AND reference = NEW.reference AND account = NEW.account
        AND currency = NEW.currency AND amount = NEW.amount);
    SELECT RAISE(ROLLBACK, 'payout: paid without its transfer')
    WHERE NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM transfer
        WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence AND kind = 'withdrawal'
        AND amount = NEW.amount AND bank_order = NEW.reference);
END;
CREATE TRIGGER payout_remains BEFORE DELETE ON payout BEGIN SELECT RAISE(ROLLBACK, 'payouts never vanish'); END;
CREATE TRIGGER payout_is_new BEFORE INSERT ON payout WHEN EXISTS (SELECT 1 FROM payout WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'payout: is there already'); END;

-- What lets somebody in. Each row that is added, changed in what counts, or removed has an entry, which the chain covers.

CREATE TABLE credential_log (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT CHECK (length(digest) = 64)
) STRICT;
CREATE INDEX credential_log_key ON credential_log (subject, key);
CREATE TRIGGER credential_log_stays BEFORE UPDATE ON credential_log BEGIN SELECT RAISE(ROLLBACK, 'credential entries never change'); END;
CREATE TRIGGER credential_log_remains BEFORE DELETE ON credential_log BEGIN SELECT RAISE(ROLLBACK, 'credential entries never vanish'); END;
CREATE TRIGGER credential_log_is_new BEFORE INSERT ON credential_log WHEN EXISTS (SELECT 1 FROM credential_log WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'credential entries are never replaced'); END;

CREATE TRIGGER account_keeps_name BEFORE UPDATE OF name ON account
WHEN NEW.kind = 'personal' AND NEW.name <> OLD.name AND (NEW.state <> 'closed' OR NEW.name <> '')
BEGIN SELECT RAISE(ROLLBACK, 'account: a person is not renamed, but for one who is erased'); END;
CREATE TRIGGER person_stays BEFORE UPDATE ON person
WHEN NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
    OR NEW.session_generation < OLD.session_generation OR (OLD.erased_at IS NOT NULL AND NEW.erased_at IS NOT OLD.erased_at)
    OR (NEW.name <> OLD.name AND (NEW.name <> '' OR NEW.erased_at IS NULL))
BEGIN SELECT RAISE(ROLLBACK, 'person: their number, account and name never change, and their generation only grows'); END;
CREATE TRIGGER person_remains BEFORE DELETE ON person BEGIN SELECT RAISE(ROLLBACK, 'people never vanish'); END;
CREATE TRIGGER person_is_new BEFORE INSERT ON person
WHEN EXISTS (SELECT 1 FROM person WHERE id = NEW.id OR account = NEW.account)
BEGIN SELECT RAISE(ROLLBACK, 'people are never replaced'); END;
CREATE TRIGGER login_stays BEFORE UPDATE ON login
WHEN NEW.email <> OLD.email OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ROLLBACK, 'login: its address and person never change'); END;
CREATE TRIGGER login_is_new BEFORE INSERT ON login
WHEN EXISTS (SELECT 1 FROM login WHERE email = NEW.email OR person = NEW.person)
BEGIN SELECT RAISE(ROLLBACK, 'logins are never replaced'); END;
CREATE TRIGGER pin_stays BEFORE UPDATE OF person ON pin WHEN NEW.person <> OLD.person
BEGIN SELECT RAISE(ROLLBACK, 'pin: its person never changes'); END;
CREATE TRIGGER pin_is_new BEFORE INSERT ON pin WHEN EXISTS (SELECT 1 FROM pin WHERE person = NEW.person)
BEGIN SELECT RAISE(ROLLBACK, 'pins are never replaced'); END;
CREATE TRIGGER passkey_stays BEFORE UPDATE ON passkey
WHEN NEW.id <> OLD.id OR NEW.person <> OLD.person OR NEW.public_key <> OLD.public_key OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ROLLBACK, 'passkey: its key and person never change'); END;
CREATE TRIGGER passkey_is_new BEFORE INSERT ON passkey WHEN EXISTS (SELECT 1 FROM passkey WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'passkeys are never replaced'); END;
CREATE TRIGGER api_key_stays BEFORE UPDATE ON api_key
WHEN NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.hash <> OLD.hash OR NEW.hint <> OLD.hint OR NEW.scopes <> OLD.scopes
    OR NEW.networks <> OLD.networks OR NEW.created_at <> OLD.created_at
    OR (NEW.expires_at IS NOT OLD.expires_at AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at))
    OR (OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS NOT OLD.replaced_by)
    OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
BEGIN SELECT RAISE(ROLLBACK, 'API keys end once and never later, and keep what they may do'); END;
CREATE TRIGGER api_key_remains BEFORE DELETE ON api_key BEGIN SELECT RAISE(ROLLBACK, 'API keys never vanish'); END;
CREATE TRIGGER api_key_is_new BEFORE INSERT ON api_key
WHEN EXISTS (SELECT 1 FROM api_key WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM api_key WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ROLLBACK, 'API keys are never replaced'); END;
CREATE TRIGGER session_stays BEFORE UPDATE ON session
WHEN NEW.hash <> OLD.hash OR NEW.person <> OLD.person OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
    OR NEW.expires_at <> OLD.expires_at OR NEW.session_generation <> OLD.session_generation
    OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
BEGIN SELECT RAISE(ROLLBACK, 'sessions end once, and never change otherwise'); END;
CREATE TRIGGER session_is_new BEFORE INSERT ON session WHEN EXISTS (SELECT 1 FROM session WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ROLLBACK, 'sessions are never replaced'); END;

CREATE TRIGGER currency_keeps BEFORE UPDATE ON currency BEGIN SELECT RAISE(ROLLBACK, 'currencies never change'); END;
CREATE TRIGGER currency_remains BEFORE DELETE ON currency BEGIN SELECT RAISE(ROLLBACK, 'currencies never vanish'); END;
CREATE TRIGGER currency_is_new BEFORE INSERT ON currency WHEN EXISTS (SELECT 1 FROM currency WHERE code = NEW.code)
BEGIN SELECT RAISE(ROLLBACK, 'currencies are never replaced'); END;
CREATE TRIGGER epoch_grows BEFORE UPDATE ON constant
WHEN OLD.name = 'epoch' AND CAST(CAST(NEW.value AS TEXT) AS INTEGER) < CAST(CAST(OLD.value AS TEXT) AS INTEGER)
BEGIN SELECT RAISE(ROLLBACK, 'constant: the epoch only grows'); END;
