-- How businesses look to their customers, and the last request of each for another name or logo.

CREATE TABLE brand (
    account INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    colour TEXT NOT NULL CHECK (colour = '' OR (length(colour) = 7 AND substr(colour, 1, 1) = '#')),
    logo TEXT NOT NULL CHECK (length(logo) IN (0, 64)),
    picture BLOB NOT NULL CHECK (length(picture) <= 40960),
    CHECK ((logo = '') = (length(picture) = 0))
) STRICT;
-- Anybody who has the digest may see a logo that was approved.
CREATE INDEX brand_logo ON brand (logo) WHERE logo <> '';

CREATE TABLE brand_change (
    account INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'bc_'),
    name TEXT NOT NULL CHECK (name <> ''),
    logo TEXT NOT NULL CHECK (length(logo) IN (0, 64)),
    picture BLOB NOT NULL CHECK (length(picture) <= 40960),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'withdrawn')),
    reason TEXT NOT NULL,
    asked_by INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    asked_at INTEGER NOT NULL,
    decided_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    decided_at INTEGER,
    CHECK ((state IN ('approved', 'refused')) = (decided_by IS NOT NULL)),
    CHECK ((decided_by IS NULL) = (decided_at IS NULL)),
    CHECK (decided_by IS NULL OR decided_by <> asked_by),
    -- A picture that customers do not see is kept no longer than it waits.
    CHECK (length(picture) = 0 OR (state = 'waiting' AND logo <> ''))
) STRICT;
CREATE INDEX brand_change_waits ON brand_change (account) WHERE state = 'waiting';

-- Both are of a live business.
CREATE TRIGGER brand_begins BEFORE INSERT ON brand
WHEN NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND kind = 'commercial' AND mode = 'live')
BEGIN SELECT RAISE(ROLLBACK, 'brand: not of a live business'); END;
CREATE TRIGGER brand_is_new BEFORE INSERT ON brand WHEN EXISTS (SELECT 1 FROM brand WHERE account = NEW.account)
BEGIN SELECT RAISE(ROLLBACK, 'brands are never replaced'); END;
CREATE TRIGGER brand_stays BEFORE UPDATE ON brand WHEN NEW.account <> OLD.account
BEGIN SELECT RAISE(ROLLBACK, 'brand: its business never changes'); END;
CREATE TRIGGER brand_remains BEFORE DELETE ON brand BEGIN SELECT RAISE(ROLLBACK, 'brands never vanish'); END;
CREATE TRIGGER brand_change_begins BEFORE INSERT ON brand_change
WHEN NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND kind = 'commercial' AND mode = 'live')
BEGIN SELECT RAISE(ROLLBACK, 'brand change: not of a live business'); END;
CREATE TRIGGER brand_change_is_new BEFORE INSERT ON brand_change WHEN EXISTS (SELECT 1 FROM brand_change WHERE account = NEW.account)
BEGIN SELECT RAISE(ROLLBACK, 'brand changes are never replaced'); END;
-- What was decided stays decided, until another one is asked for.
CREATE TRIGGER brand_change_stays BEFORE UPDATE ON brand_change
WHEN NEW.account <> OLD.account OR (NEW.id = OLD.id AND (OLD.state <> 'waiting' OR NEW.name <> OLD.name OR NEW.logo <> OLD.logo
    OR NEW.asked_by <> OLD.asked_by OR NEW.asked_at <> OLD.asked_at))
BEGIN SELECT RAISE(ROLLBACK, 'brand change: decided once, and as it was asked for'); END;
CREATE TRIGGER brand_change_remains BEFORE DELETE ON brand_change
BEGIN SELECT RAISE(ROLLBACK, 'brand changes never vanish'); END;
