-- Comfort, for PostgreSQL: the same tables and guards as 0010_comfort.sqlite.sql, which says why.

CREATE TABLE saved_view (
    account BIGINT NOT NULL REFERENCES account,
    person BIGINT NOT NULL REFERENCES person,
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    place BIGINT NOT NULL CHECK (place BETWEEN 1 AND 20),
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'sv_'),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
    query TEXT NOT NULL CHECK (length(query) BETWEEN 1 AND 4000),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, person, mode, place),
    UNIQUE (account, person, mode, name)
);

CREATE TRIGGER saved_view_stays BEFORE UPDATE ON saved_view FOR EACH STATEMENT EXECUTE FUNCTION refused('saved views never change');

CREATE TABLE payment_attempt (
    payment BIGINT NOT NULL,
    place BIGINT NOT NULL CHECK (place BETWEEN 1 AND 20),
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'pa_'),
    at BIGINT NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('wrong_pin', 'pin_locked', 'insufficient_funds', 'limit', 'other')),
    PRIMARY KEY (payment, place)
);
CREATE INDEX payment_attempt_at ON payment_attempt (at);

CREATE TRIGGER payment_attempt_stays BEFORE UPDATE ON payment_attempt FOR EACH STATEMENT EXECUTE FUNCTION refused('failed attempts never change');
