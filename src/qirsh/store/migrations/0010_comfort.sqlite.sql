-- What makes lists of payments comfortable: views that each of the staff has saved for themselves, and why
-- payments could not be paid. Failed tries may vanish, and nothing else refers to them.

CREATE TABLE saved_view (
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    place INTEGER NOT NULL CHECK (place BETWEEN 1 AND 20),
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'sv_'),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
    query TEXT NOT NULL CHECK (length(query) BETWEEN 1 AND 4000),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, person, mode, place),
    UNIQUE (account, person, mode, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER saved_view_stays BEFORE UPDATE ON saved_view
BEGIN SELECT RAISE(ROLLBACK, 'saved views never change'); END;
CREATE TRIGGER saved_view_is_new BEFORE INSERT ON saved_view
WHEN EXISTS (SELECT 1 FROM saved_view WHERE account = NEW.account AND person = NEW.person AND mode = NEW.mode
    AND (place = NEW.place OR name = NEW.name))
BEGIN SELECT RAISE(ROLLBACK, 'saved views are never replaced'); END;

CREATE TABLE payment_attempt (
    payment INTEGER NOT NULL,
    place INTEGER NOT NULL CHECK (place BETWEEN 1 AND 20),
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'pa_'),
    at INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('wrong_pin', 'pin_locked', 'insufficient_funds', 'limit', 'other')),
    PRIMARY KEY (payment, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_attempt_at ON payment_attempt (at);

CREATE TRIGGER payment_attempt_stays BEFORE UPDATE ON payment_attempt
BEGIN SELECT RAISE(ROLLBACK, 'failed attempts never change'); END;
CREATE TRIGGER payment_attempt_is_new BEFORE INSERT ON payment_attempt
WHEN EXISTS (SELECT 1 FROM payment_attempt WHERE payment = NEW.payment AND place = NEW.place)
BEGIN SELECT RAISE(ROLLBACK, 'failed attempts are never replaced'); END;
