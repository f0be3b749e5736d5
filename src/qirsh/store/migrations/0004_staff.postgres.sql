-- Staff, for PostgreSQL: the same tables and guards as 0004_staff.sqlite.sql, which says why.

CREATE TABLE member (
    account BIGINT NOT NULL REFERENCES account,
    person BIGINT NOT NULL REFERENCES person,
    role TEXT NOT NULL CHECK (role IN ('manager', 'accountant', 'cashier', 'developer', 'viewer')),
    invited_by BIGINT NOT NULL REFERENCES person,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, person)
);
CREATE INDEX member_person ON member (person);

CREATE TABLE member_cap (
    account BIGINT NOT NULL,
    person BIGINT NOT NULL,
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    PRIMARY KEY (account, person, currency),
    FOREIGN KEY (account, person) REFERENCES member
);

CREATE TABLE refund_tally (
    account BIGINT NOT NULL REFERENCES account,
    person BIGINT NOT NULL REFERENCES person,
    currency TEXT NOT NULL REFERENCES currency,
    used BIGINT NOT NULL CHECK (used >= 0),
    since BIGINT NOT NULL,
    PRIMARY KEY (account, person, currency)
);

CREATE TABLE invitation (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'inv_'),
    account BIGINT NOT NULL REFERENCES account,
    email TEXT NOT NULL CHECK (email <> ''),
    role TEXT NOT NULL CHECK (role IN ('manager', 'accountant', 'cashier', 'developer', 'viewer')),
    caps TEXT NOT NULL CHECK (caps = '' OR role = 'cashier'),
    invited_by BIGINT NOT NULL REFERENCES person,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL CHECK (expires_at > created_at)
);
CREATE INDEX invitation_account ON invitation (account, created_at);
CREATE INDEX invitation_email ON invitation (email);

CREATE TABLE bank_account (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'ba_'),
    account BIGINT NOT NULL REFERENCES account,
    details_sealed BYTEA NOT NULL CHECK (length(details_sealed) > 0),
    created_by BIGINT NOT NULL REFERENCES person,
    created_at BIGINT NOT NULL
);
CREATE INDEX bank_account_account ON bank_account (account, created_at);

CREATE TABLE payment_act (
    payment BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    person BIGINT NOT NULL REFERENCES person,
    account BIGINT NOT NULL REFERENCES account,
    act TEXT NOT NULL CHECK (act IN ('created', 'cancelled', 'refunded')),
    at BIGINT NOT NULL,
    PRIMARY KEY (payment, version)
);
CREATE INDEX payment_act_account ON payment_act (account, at, payment, version);

-- What happened at a business: its account is the subject, or what the detail begins with.
CREATE INDEX audit_shop ON audit ((CASE WHEN substr(subject, 1, 8) = 'account ' THEN subject ELSE substr(detail, 1, 20) END), id);

CREATE FUNCTION members_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added m LEFT JOIN account a ON a.number = m.account
        WHERE (a.kind = 'commercial' AND a.mode = 'live' AND a.owner <> m.person) IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'member: not of a live business, or its owner';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER members_begin AFTER INSERT ON member REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION members_begin();
CREATE TRIGGER member_stays BEFORE UPDATE ON member FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION refused('member: their business never changes');
CREATE TRIGGER member_cap_stays BEFORE UPDATE ON member_cap FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.currency <> OLD.currency)
    EXECUTE FUNCTION refused('member cap: whose it is never changes');
CREATE TRIGGER refund_tally_counts BEFORE UPDATE ON refund_tally FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.currency <> OLD.currency
        OR (NEW.since = OLD.since AND NEW.used < OLD.used)
        OR (NEW.since <> OLD.since AND NEW.since < OLD.since + 79200000))
    EXECUTE FUNCTION refused('refund tally: what was refunded in a day only grows');
CREATE TRIGGER refund_tally_remains BEFORE DELETE OR TRUNCATE ON refund_tally
    FOR EACH STATEMENT EXECUTE FUNCTION refused('refund tallies never vanish');
CREATE TRIGGER invitation_stays BEFORE UPDATE ON invitation FOR EACH STATEMENT EXECUTE FUNCTION refused('invitations never change');
CREATE FUNCTION payment_acts_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added a LEFT JOIN payment p ON p.number = a.payment WHERE (p.version >= a.version) IS NOT TRUE) THEN
        RAISE check_violation USING MESSAGE = 'payment act: of a version that never was';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER payment_acts_begin AFTER INSERT ON payment_act REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION payment_acts_begin();
CREATE TRIGGER payment_act_stays BEFORE UPDATE ON payment_act FOR EACH STATEMENT EXECUTE FUNCTION refused('payment acts never change');
CREATE TRIGGER payment_act_remains BEFORE DELETE OR TRUNCATE ON payment_act FOR EACH STATEMENT EXECUTE FUNCTION refused('payment acts never vanish');
CREATE TRIGGER bank_account_stays BEFORE UPDATE ON bank_account FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION refused('bank account: its business and its age never change');

-- Who works at a business confirms nothing about it.
CREATE FUNCTION proposal_without_staff() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM member WHERE person = NEW.decided_by AND NEW.subject = 'account ' || account) THEN
        RAISE check_violation USING MESSAGE = 'proposal: confirmed by whom it is about';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER proposal_without_staff BEFORE INSERT OR UPDATE ON proposal FOR EACH ROW
    WHEN (NEW.state = 'done') EXECUTE FUNCTION proposal_without_staff();
