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
    purpose TEXT NOT NULL CHECK (purpose IN ('sign-up', 'reset', 'email', 'pin', 'factor', 'operator', 'passkey')),
    email TEXT NOT NULL,
    person BIGINT REFERENCES person,
    token_hash BYTEA NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    code_mac BYTEA NOT NULL,
    failures BIGINT NOT NULL CHECK (failures >= 0),
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (purpose, email)
);
CREATE INDEX challenge_expires ON challenge (expires_at);

CREATE TABLE appointment (
    email TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    roles TEXT NOT NULL CHECK (roles <> ''),
    proposal TEXT NOT NULL REFERENCES proposal
);

CREATE TABLE identity (
    person BIGINT PRIMARY KEY REFERENCES person,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'verified', 'rejected')),
    facts_sealed BYTEA NOT NULL,
    reason TEXT NOT NULL,
    submitted_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by BIGINT REFERENCES operator,
    because TEXT NOT NULL CHECK (because IN ('', 'not_readable', 'not_whole', 'out_of_date', 'other_details', 'wrong_document', 'other')),
    document_mac BYTEA NOT NULL,
    CHECK ((because <> '') = (state = 'rejected')),
    CHECK ((state = 'submitted') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
    CHECK (decided_by <> person)
);
CREATE INDEX identity_waits ON identity (submitted_at) WHERE state = 'submitted';
-- Whether one document is on several accounts.
CREATE INDEX identity_document ON identity (document_mac);

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
    reason TEXT NOT NULL,
    needs_two_step BOOLEAN NOT NULL,
    time_zone TEXT NOT NULL
);

CREATE TABLE mail (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    is_urgent BOOLEAN NOT NULL
);
CREATE INDEX mail_due ON mail (is_urgent DESC, due_at);

-- Who becomes an operator, and in which roles, is what was agreed to.

CREATE FUNCTION appointment_is_agreed_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
        WHERE p.id = NEW.proposal AND p.state = 'done' AND p.action = 'operator create'
        AND held ->> 'email' = NEW.email AND held ->> 'name' = NEW.name AND held ->> 'roles' = NEW.roles)
    THEN
        RAISE check_violation USING MESSAGE = 'appointment: is not what was agreed to';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER appointment_is_agreed_to BEFORE INSERT OR UPDATE ON appointment
    FOR EACH ROW EXECUTE FUNCTION appointment_is_agreed_to();

-- A payout ends once, and is paid only with the money that has moved for it.

CREATE TRIGGER payout_begins BEFORE INSERT ON payout FOR EACH ROW
    WHEN (NEW.state <> 'asked') EXECUTE FUNCTION refused('payout: begins asked');
CREATE FUNCTION payout_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.currency <> OLD.currency OR NEW.amount <> OLD.amount
        OR NEW.created_at <> OLD.created_at OR NEW.bank_hint <> OLD.bank_hint OR NOT ((OLD.state = 'asked' AND NEW.state IN ('ordered', 'refused', 'cancelled'))
        OR (OLD.state = 'ordered' AND (NEW.state IN ('asked', 'ordered')
        OR (NEW.state = 'paid' AND NEW.reference = OLD.reference))))
    THEN
        RAISE check_violation USING MESSAGE = 'payout: what was asked for never changes, and an end is an end';
    END IF;
    IF NEW.bank_sealed <> (CASE WHEN NEW.state IN ('asked', 'ordered') THEN OLD.bank_sealed ELSE '' END) THEN
        RAISE check_violation USING MESSAGE = 'payout: its bank details stay until its end, and are gone then';
    END IF;
    IF NEW.state = 'ordered' AND NOT EXISTS (SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
        WHERE p.subject = 'account ' || NEW.account AND p.state = 'open' AND p.action = 'payout'
        AND held ->> 'payout' = NEW.id AND held ->> 'reference' = NEW.reference)
    THEN
        RAISE check_violation USING MESSAGE = 'payout: ordered without its proposal';
    END IF;
    IF NEW.state = 'asked' AND (NEW.reference IS NOT NULL OR EXISTS (
        SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
        WHERE p.subject = 'account ' || NEW.account AND p.state = 'open' AND p.action = 'payout'
        AND held ->> 'payout' = NEW.id))
    THEN
        RAISE check_violation USING MESSAGE = 'payout: put back while its proposal is open';
    END IF;
    IF NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM bank_order
        WHERE payout = NEW.id AND reference = NEW.reference AND account = NEW.account
        AND currency = NEW.currency AND amount = NEW.amount)
    THEN
        RAISE check_violation USING MESSAGE = 'payout: paid without its order';
    END IF;
    IF NEW.state = 'paid' AND NOT EXISTS (SELECT 1 FROM transfer
        WHERE debit = NEW.account AND currency = NEW.currency AND debit_sequence = NEW.sequence AND kind = 'withdrawal'
        AND amount = NEW.amount AND bank_order = NEW.reference)
    THEN
        RAISE check_violation USING MESSAGE = 'payout: paid without its transfer';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payout_moves BEFORE UPDATE ON payout FOR EACH ROW EXECUTE FUNCTION payout_moves();
CREATE TRIGGER payout_remains BEFORE DELETE OR TRUNCATE ON payout FOR EACH STATEMENT EXECUTE FUNCTION refused('payouts never vanish');

-- What lets somebody in. Each row that is added, changed in what counts, or removed has an entry, which the chain covers.

CREATE TABLE credential_log (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT CHECK (length(digest) = 64)
);
CREATE INDEX credential_log_key ON credential_log (subject, key);
CREATE TRIGGER credential_log_stays BEFORE UPDATE ON credential_log FOR EACH STATEMENT EXECUTE FUNCTION refused('credential entries never change');
CREATE TRIGGER credential_log_remains BEFORE DELETE OR TRUNCATE ON credential_log FOR EACH STATEMENT EXECUTE FUNCTION refused('credential entries never vanish');

CREATE TRIGGER account_keeps_name BEFORE UPDATE ON account FOR EACH ROW
    WHEN (NEW.kind = 'personal' AND NEW.name <> OLD.name AND (NEW.state <> 'closed' OR NEW.name <> ''))
    EXECUTE FUNCTION refused('account: a person is not renamed, but for one who is erased');
CREATE TRIGGER person_stays BEFORE UPDATE ON person FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
        OR NEW.session_generation < OLD.session_generation
        OR (OLD.erased_at IS NOT NULL AND NEW.erased_at IS DISTINCT FROM OLD.erased_at)
        OR (NEW.name <> OLD.name AND (NEW.name <> '' OR NEW.erased_at IS NULL)))
    EXECUTE FUNCTION refused('person: their number, account and name never change, and their generation only grows');
CREATE TRIGGER person_remains BEFORE DELETE OR TRUNCATE ON person FOR EACH STATEMENT EXECUTE FUNCTION refused('people never vanish');
CREATE TRIGGER login_stays BEFORE UPDATE ON login FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION refused('login: its address and person never change');
CREATE TRIGGER pin_stays BEFORE UPDATE OF person ON pin FOR EACH ROW
    WHEN (NEW.person <> OLD.person) EXECUTE FUNCTION refused('pin: its person never changes');
CREATE TRIGGER passkey_stays BEFORE UPDATE ON passkey FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.person <> OLD.person OR NEW.public_key <> OLD.public_key OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION refused('passkey: its key and person never change');
CREATE TRIGGER api_key_stays BEFORE UPDATE ON api_key FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.hash <> OLD.hash OR NEW.hint <> OLD.hint OR NEW.scopes <> OLD.scopes
        OR NEW.networks <> OLD.networks OR NEW.created_at <> OLD.created_at
        OR (NEW.expires_at IS DISTINCT FROM OLD.expires_at AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at))
        OR (OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS DISTINCT FROM OLD.replaced_by)
        OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at))
    EXECUTE FUNCTION refused('API keys end once and never later, and keep what they may do');
CREATE TRIGGER api_key_remains BEFORE DELETE OR TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refused('API keys never vanish');
CREATE TRIGGER session_stays BEFORE UPDATE ON session FOR EACH ROW
    WHEN (NEW.hash <> OLD.hash OR NEW.person <> OLD.person OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
        OR NEW.expires_at <> OLD.expires_at OR NEW.session_generation <> OLD.session_generation
        OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at))
    EXECUTE FUNCTION refused('sessions end once, and never change otherwise');

CREATE TRIGGER currency_keeps BEFORE UPDATE ON currency FOR EACH STATEMENT EXECUTE FUNCTION refused('currencies never change');
CREATE TRIGGER epoch_grows BEFORE UPDATE ON constant FOR EACH ROW
    WHEN (OLD.name = 'epoch' AND convert_from(NEW.value, 'UTF8')::bigint < convert_from(OLD.value, 'UTF8')::bigint)
    EXECUTE FUNCTION refused('constant: the epoch only grows');
