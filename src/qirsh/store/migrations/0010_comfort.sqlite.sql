-- What makes lists of payments comfortable: views that each of the staff has saved for themselves.

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
