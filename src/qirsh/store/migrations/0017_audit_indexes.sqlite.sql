-- What the ledger auditor keeps of its looks, and the audit log by actor, by act and by time.

CREATE TABLE ledger_check (
    name TEXT PRIMARY KEY CHECK (name <> ''),
    looked_at INTEGER NOT NULL,
    held_at INTEGER,
    finding TEXT NOT NULL,
    CHECK (held_at IS NULL OR held_at <= looked_at)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER ledger_check_stays BEFORE UPDATE ON ledger_check
WHEN NEW.name <> OLD.name
BEGIN SELECT RAISE(ROLLBACK, 'ledger checks keep their names'); END;
CREATE TRIGGER ledger_check_remains BEFORE DELETE ON ledger_check
BEGIN SELECT RAISE(ROLLBACK, 'ledger checks never vanish'); END;
CREATE TRIGGER ledger_check_is_new BEFORE INSERT ON ledger_check
WHEN EXISTS (SELECT 1 FROM ledger_check WHERE name = NEW.name)
BEGIN SELECT RAISE(ROLLBACK, 'ledger checks are never replaced'); END;

CREATE TABLE ledger_sum (
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'commercial', 'house')),
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER NOT NULL,
    held INTEGER NOT NULL CHECK (held >= 0),
    balances INTEGER NOT NULL CHECK (balances >= 0),
    at INTEGER NOT NULL,
    PRIMARY KEY (mode, kind, currency)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER ledger_sum_stays BEFORE UPDATE ON ledger_sum
WHEN NEW.mode <> OLD.mode OR NEW.kind <> OLD.kind OR NEW.currency <> OLD.currency
BEGIN SELECT RAISE(ROLLBACK, 'ledger sums stay what they are of'); END;
CREATE TRIGGER ledger_sum_remains BEFORE DELETE ON ledger_sum
BEGIN SELECT RAISE(ROLLBACK, 'ledger sums never vanish'); END;
CREATE TRIGGER ledger_sum_is_new BEFORE INSERT ON ledger_sum
WHEN EXISTS (SELECT 1 FROM ledger_sum WHERE mode = NEW.mode AND kind = NEW.kind AND currency = NEW.currency)
BEGIN SELECT RAISE(ROLLBACK, 'ledger sums are never replaced'); END;

-- An operator is one actor, from wherever they acted: `operator 3 (os user alice)` is `operator 3`.
CREATE INDEX audit_actor ON audit ((CASE WHEN substr(actor, 1, 9) = 'operator ' THEN rtrim(substr(actor, 1, length(actor) - length(ltrim(actor, 'operator 0123456789')))) ELSE actor END), at, id);
CREATE INDEX audit_action ON audit (action, at, id);
CREATE INDEX audit_at ON audit (at, id);
