-- Who works at a business, what cashiers may refund in a day, who was asked to join, where its payouts go, and who did what by hand.

CREATE TABLE member (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    role TEXT NOT NULL CHECK (role IN ('manager', 'accountant', 'cashier', 'developer', 'viewer')),
    invited_by INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_person ON member (person);

CREATE TABLE member_cap (
    account INTEGER NOT NULL,
    person INTEGER NOT NULL,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 999999999999999),
    PRIMARY KEY (account, person, currency),
    FOREIGN KEY (account, person) REFERENCES member DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TABLE refund_tally (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    used INTEGER NOT NULL CHECK (used >= 0),
    since INTEGER NOT NULL,
    PRIMARY KEY (account, person, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE invitation (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'inv_'),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    email TEXT NOT NULL CHECK (email <> ''),
    role TEXT NOT NULL CHECK (role IN ('manager', 'accountant', 'cashier', 'developer', 'viewer')),
    caps TEXT NOT NULL CHECK (caps = '' OR role = 'cashier'),
    invited_by INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL CHECK (expires_at > created_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_account ON invitation (account, created_at);
CREATE INDEX invitation_email ON invitation (email);

CREATE TABLE bank_account (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'ba_'),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    details_sealed BLOB NOT NULL CHECK (length(details_sealed) > 0),
    created_by INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_account_account ON bank_account (account, created_at);

CREATE TABLE payment_act (
    payment INTEGER NOT NULL REFERENCES payment DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL CHECK (version >= 1),
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    act TEXT NOT NULL CHECK (act IN ('created', 'cancelled', 'refunded')),
    at INTEGER NOT NULL,
    PRIMARY KEY (payment, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_act_account ON payment_act (account, at, payment, version);

-- What happened at a business: its account is the subject, or what the detail begins with.
CREATE INDEX audit_shop ON audit ((CASE WHEN substr(subject, 1, 8) = 'account ' THEN subject ELSE substr(detail, 1, 20) END), id);

-- A member is a person of a live business, and not its owner.
CREATE TRIGGER member_begins BEFORE INSERT ON member
WHEN NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND kind = 'commercial' AND mode = 'live' AND owner <> NEW.person)
BEGIN SELECT RAISE(ROLLBACK, 'member: not of a live business, or its owner'); END;
CREATE TRIGGER member_is_new BEFORE INSERT ON member
WHEN EXISTS (SELECT 1 FROM member WHERE account = NEW.account AND person = NEW.person)
BEGIN SELECT RAISE(ROLLBACK, 'members are never replaced'); END;
CREATE TRIGGER member_stays BEFORE UPDATE ON member
WHEN NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ROLLBACK, 'member: their business never changes'); END;
CREATE TRIGGER member_cap_stays BEFORE UPDATE ON member_cap
WHEN NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.currency <> OLD.currency
BEGIN SELECT RAISE(ROLLBACK, 'member cap: whose it is never changes'); END;
-- What was refunded in a day is not forgotten in that day, and no day is shorter than 22 hours.
CREATE TRIGGER refund_tally_counts BEFORE UPDATE ON refund_tally
WHEN NEW.account <> OLD.account OR NEW.person <> OLD.person OR NEW.currency <> OLD.currency
    OR (NEW.since = OLD.since AND NEW.used < OLD.used)
    OR (NEW.since <> OLD.since AND NEW.since < OLD.since + 79200000)
BEGIN SELECT RAISE(ROLLBACK, 'refund tally: what was refunded in a day only grows'); END;
CREATE TRIGGER refund_tally_remains BEFORE DELETE ON refund_tally
BEGIN SELECT RAISE(ROLLBACK, 'refund tallies never vanish'); END;
CREATE TRIGGER refund_tally_is_new BEFORE INSERT ON refund_tally
WHEN EXISTS (SELECT 1 FROM refund_tally WHERE account = NEW.account AND person = NEW.person AND currency = NEW.currency)
BEGIN SELECT RAISE(ROLLBACK, 'refund tallies are never replaced'); END;
CREATE TRIGGER member_cap_is_new BEFORE INSERT ON member_cap
WHEN EXISTS (SELECT 1 FROM member_cap WHERE account = NEW.account AND person = NEW.person AND currency = NEW.currency)
BEGIN SELECT RAISE(ROLLBACK, 'member caps are never replaced'); END;
CREATE TRIGGER invitation_stays BEFORE UPDATE ON invitation
BEGIN SELECT RAISE(ROLLBACK, 'invitations never change'); END;
CREATE TRIGGER invitation_is_new BEFORE INSERT ON invitation
WHEN EXISTS (SELECT 1 FROM invitation WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'invitations are never replaced'); END;
CREATE TRIGGER payment_act_begins BEFORE INSERT ON payment_act
WHEN NOT EXISTS (SELECT 1 FROM payment WHERE number = NEW.payment AND version >= NEW.version)
BEGIN SELECT RAISE(ROLLBACK, 'payment act: of a version that never was'); END;
CREATE TRIGGER payment_act_is_new BEFORE INSERT ON payment_act
WHEN EXISTS (SELECT 1 FROM payment_act WHERE payment = NEW.payment AND version = NEW.version)
BEGIN SELECT RAISE(ROLLBACK, 'payment acts are never replaced'); END;
CREATE TRIGGER payment_act_stays BEFORE UPDATE ON payment_act BEGIN SELECT RAISE(ROLLBACK, 'payment acts never change'); END;
CREATE TRIGGER payment_act_remains BEFORE DELETE ON payment_act BEGIN SELECT RAISE(ROLLBACK, 'payment acts never vanish'); END;
-- A day passes before money goes to one.
CREATE TRIGGER bank_account_stays BEFORE UPDATE ON bank_account
WHEN NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ROLLBACK, 'bank account: its business and its age never change'); END;
CREATE TRIGGER bank_account_is_new BEFORE INSERT ON bank_account
WHEN EXISTS (SELECT 1 FROM bank_account WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'bank accounts are never replaced'); END;

-- Who works at a business confirms nothing about it.
CREATE TRIGGER proposal_begins_without_staff BEFORE INSERT ON proposal WHEN NEW.state = 'done'
    AND EXISTS (SELECT 1 FROM member WHERE person = NEW.decided_by AND NEW.subject = 'account ' || account)
BEGIN SELECT RAISE(ROLLBACK, 'proposal: confirmed by whom it is about'); END;
CREATE TRIGGER proposal_moves_without_staff BEFORE UPDATE ON proposal WHEN NEW.state = 'done'
    AND EXISTS (SELECT 1 FROM member WHERE person = NEW.decided_by AND NEW.subject = 'account ' || account)
BEGIN SELECT RAISE(ROLLBACK, 'proposal: confirmed by whom it is about'); END;
