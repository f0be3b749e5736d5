-- Standing codes at which customers make payments themselves. They are printed: what one takes never changes, and a closed one stays closed.

CREATE TABLE till (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 5) = 'till_'),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL CHECK (name <> ''),
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    amount INTEGER CHECK (amount BETWEEN 1 AND 999999999999999),
    minimum INTEGER CHECK (minimum >= 1),
    maximum INTEGER CHECK (maximum BETWEEN minimum AND 999999999999999),
    note TEXT NOT NULL,
    created_by INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    closed_at INTEGER,
    CONSTRAINT till_takes CHECK ((amount IS NULL) = (minimum IS NOT NULL) AND (minimum IS NULL) = (maximum IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX till_account ON till (account, closed_at, created_at, id);

CREATE TRIGGER till_begins BEFORE INSERT ON till
WHEN NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND kind = 'commercial')
BEGIN SELECT RAISE(ROLLBACK, 'till: not of a business'); END;
CREATE TRIGGER till_is_new BEFORE INSERT ON till
WHEN EXISTS (SELECT 1 FROM till WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'tills are never replaced'); END;
CREATE TRIGGER till_stays BEFORE UPDATE ON till
WHEN OLD.closed_at IS NOT NULL
    OR (NEW.id, NEW.account, NEW.name, NEW.currency, NEW.amount, NEW.minimum, NEW.maximum, NEW.note, NEW.created_by, NEW.created_at)
    IS NOT (OLD.id, OLD.account, OLD.name, OLD.currency, OLD.amount, OLD.minimum, OLD.maximum, OLD.note, OLD.created_by, OLD.created_at)
BEGIN SELECT RAISE(ROLLBACK, 'till: it is closed once, and nothing else of it changes'); END;
CREATE TRIGGER till_remains BEFORE DELETE ON till BEGIN SELECT RAISE(ROLLBACK, 'tills never vanish'); END;
