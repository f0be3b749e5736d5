-- Help for people: PINs and second factors that are set back a day after two operators agreed, and operators who were
-- let in again from the machine itself.

CREATE TABLE pending_reset (
    person BIGINT NOT NULL REFERENCES person,
    what TEXT NOT NULL CHECK (what IN ('pin', 'factors')),
    due_at BIGINT NOT NULL,
    proposal TEXT NOT NULL REFERENCES proposal,
    state TEXT NOT NULL CHECK (state IN ('waits', 'done', 'kept')),
    PRIMARY KEY (person, what)
);
CREATE INDEX pending_reset_due ON pending_reset (due_at) WHERE state = 'waits';
CREATE FUNCTION pending_reset_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.person <> OLD.person OR NEW.what <> OLD.what
        OR (NEW.proposal = OLD.proposal AND (OLD.state <> 'waits' OR NEW.state = 'waits' OR NEW.due_at <> OLD.due_at))
        OR (NEW.proposal <> OLD.proposal AND NEW.due_at <= OLD.due_at))
    THEN
        RAISE check_violation USING MESSAGE = 'pending reset: ends once, and another one takes another agreement';
    END IF;
    -- One that comes to nothing may, whatever it was.
    IF (TG_OP = 'INSERT' OR NEW.state <> 'kept') AND NOT EXISTS (SELECT 1 FROM proposal p WHERE p.id = NEW.proposal AND p.state = 'done'
        AND p.action = CASE NEW.what WHEN 'pin' THEN 'reset-pin' ELSE 'remove-factors' END
        AND p.command::jsonb ->> 'person' = NEW.person::text AND NEW.due_at = p.decided_at + 86400000)
    THEN
        RAISE check_violation USING MESSAGE = 'pending reset: is not what two operators agreed to, a day later';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pending_reset_moves BEFORE INSERT OR UPDATE ON pending_reset
    FOR EACH ROW EXECUTE FUNCTION pending_reset_moves();
CREATE TRIGGER pending_reset_remains BEFORE DELETE OR TRUNCATE ON pending_reset
    FOR EACH STATEMENT EXECUTE FUNCTION refused('pending resets never vanish');

CREATE TABLE recovery (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'rec_'),
    person BIGINT NOT NULL REFERENCES operator,
    roles TEXT NOT NULL,
    done_by TEXT NOT NULL CHECK (done_by <> ''),
    at BIGINT NOT NULL,
    read_by BIGINT REFERENCES operator,
    read_at BIGINT,
    CHECK ((read_by IS NULL) = (read_at IS NULL))
);
CREATE INDEX recovery_unread ON recovery (at) WHERE read_at IS NULL;
CREATE INDEX recovery_person ON recovery (person);
CREATE FUNCTION recovery_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.read_at IS NOT NULL OR NEW.read_at IS NULL OR NEW.id <> OLD.id OR NEW.person <> OLD.person
        OR NEW.done_by <> OLD.done_by OR NEW.at <> OLD.at OR NEW.roles <> OLD.roles
    THEN
        RAISE check_violation USING MESSAGE = 'recovery: is read once, and never changes otherwise';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.read_by AND ended_at IS NULL AND roles LIKE 'admin%') THEN
        RAISE check_violation USING MESSAGE = 'recovery: read by somebody who is no admin';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER recovery_moves BEFORE UPDATE ON recovery FOR EACH ROW EXECUTE FUNCTION recovery_moves();
CREATE TRIGGER recovery_remains BEFORE DELETE OR TRUNCATE ON recovery
    FOR EACH STATEMENT EXECUTE FUNCTION refused('recoveries never vanish');

-- What waits for a decision, oldest first, and the names that a new one could be taken for.
CREATE INDEX account_requested ON account (created_at, number) WHERE kind = 'commercial' AND state = 'requested';
CREATE INDEX account_approved ON account (number, name)
    WHERE kind = 'commercial' AND mode = 'live' AND state IN ('approved', 'suspended');
CREATE INDEX brand_change_asked ON brand_change (asked_at, account) WHERE state = 'waiting';
