-- Help for people: PINs and second factors that are set back a day after two operators agreed, and operators who were
-- let in again from the machine itself.

CREATE TABLE pending_reset (
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    what TEXT NOT NULL CHECK (what IN ('pin', 'factors')),
    due_at INTEGER NOT NULL,
    proposal TEXT NOT NULL REFERENCES proposal DEFERRABLE INITIALLY DEFERRED,
    state TEXT NOT NULL CHECK (state IN ('waits', 'done', 'kept')),
    PRIMARY KEY (person, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_reset_due ON pending_reset (due_at) WHERE state = 'waits';
CREATE TRIGGER pending_reset_begins BEFORE INSERT ON pending_reset
WHEN NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done'
    AND p.action = iif(NEW.what = 'pin', 'reset-pin', 'remove-factors') AND p.command ->> 'person' = NEW.person
    AND NEW.due_at = p.decided_at + 86400000)
BEGIN SELECT RAISE(ROLLBACK, 'pending reset: is not what two operators agreed to, a day later'); END;
CREATE TRIGGER pending_reset_moves BEFORE UPDATE ON pending_reset BEGIN
    SELECT RAISE(ROLLBACK, 'pending reset: ends once, and another one takes another agreement')
    WHERE NEW.person <> OLD.person OR NEW.what <> OLD.what
        OR (NEW.proposal = OLD.proposal AND (OLD.state <> 'waits' OR NEW.state = 'waits' OR NEW.due_at <> OLD.due_at))
        OR (NEW.proposal <> OLD.proposal AND NEW.due_at <= OLD.due_at);
    SELECT RAISE(ROLLBACK, 'pending reset: is not what two operators agreed to, a day later')
    -- One that comes to nothing may, whatever it was.
    WHERE NEW.state <> 'kept' AND NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done'
        AND p.action = iif(NEW.what = 'pin', 'reset-pin', 'remove-factors') AND p.command ->> 'person' = NEW.person
        AND NEW.due_at = p.decided_at + 86400000);
END;
CREATE TRIGGER pending_reset_remains BEFORE DELETE ON pending_reset
BEGIN SELECT RAISE(ROLLBACK, 'pending resets never vanish'); END;
CREATE TRIGGER pending_reset_is_new BEFORE INSERT ON pending_reset
WHEN EXISTS (SELECT 1 FROM pending_reset WHERE person = NEW.person AND what = NEW.what)
BEGIN SELECT RAISE(ROLLBACK, 'pending resets are never replaced'); END;

CREATE TABLE recovery (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'rec_'),
    person INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    roles TEXT NOT NULL,
    done_by TEXT NOT NULL CHECK (done_by <> ''),
    at INTEGER NOT NULL,
    read_by INTEGER REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    read_at INTEGER,
    CHECK ((read_by IS NULL) = (read_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_unread ON recovery (at) WHERE read_at IS NULL;
CREATE INDEX recovery_person ON recovery (person);
CREATE TRIGGER recovery_moves BEFORE UPDATE ON recovery BEGIN
    SELECT RAISE(ROLLBACK, 'recovery: is read once, and never changes otherwise')
    WHERE OLD.read_at IS NOT NULL OR NEW.read_at IS NULL OR NEW.id <> OLD.id OR NEW.person <> OLD.person
        OR NEW.done_by <> OLD.done_by OR NEW.at <> OLD.at OR NEW.roles <> OLD.roles;
    SELECT RAISE(ROLLBACK, 'recovery: read by somebody who is no admin')
    WHERE NOT EXISTS (SELECT 1 FROM operator
        WHERE person = NEW.read_by AND ended_at IS NULL AND roles GLOB 'admin*');
END;
CREATE TRIGGER recovery_remains BEFORE DELETE ON recovery BEGIN SELECT RAISE(ROLLBACK, 'recoveries never vanish'); END;
CREATE TRIGGER recovery_is_new BEFORE INSERT ON recovery WHEN EXISTS (SELECT 1 FROM recovery WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'recoveries are never replaced'); END;

-- What waits for a decision, oldest first, and the names that a new one could be taken for.
CREATE INDEX account_requested ON account (created_at, number) WHERE kind = 'commercial' AND state = 'requested';
CREATE INDEX account_approved ON account (number, name)
    WHERE kind = 'commercial' AND mode = 'live' AND state IN ('approved', 'suspended');
CREATE INDEX brand_change_asked ON brand_change (asked_at, account) WHERE state = 'waiting';
