-- What the ledger auditor keeps of its looks, and the audit log by actor, by act and by time.

CREATE TABLE ledger_check (
    name TEXT PRIMARY KEY CHECK (name <> ''),
    looked_at BIGINT NOT NULL,
    held_at BIGINT,
    finding TEXT NOT NULL,
    CHECK (held_at IS NULL OR held_at <= looked_at)
) WITH (fillfactor = 50);
CREATE TRIGGER ledger_check_stays BEFORE UPDATE ON ledger_check FOR EACH ROW
    WHEN (NEW.name <> OLD.name) EXECUTE FUNCTION refused('ledger checks keep their names');
CREATE TRIGGER ledger_check_remains BEFORE DELETE OR TRUNCATE ON ledger_check
    FOR EACH STATEMENT EXECUTE FUNCTION refused('ledger checks never vanish');

CREATE TABLE ledger_sum (
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'commercial', 'house')),
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT NOT NULL,
    held BIGINT NOT NULL CHECK (held >= 0),
    balances BIGINT NOT NULL CHECK (balances >= 0),
    at BIGINT NOT NULL,
    PRIMARY KEY (mode, kind, currency)
) WITH (fillfactor = 50);
CREATE TRIGGER ledger_sum_stays BEFORE UPDATE ON ledger_sum FOR EACH ROW
    WHEN (NEW.mode <> OLD.mode OR NEW.kind <> OLD.kind OR NEW.currency <> OLD.currency)
    EXECUTE FUNCTION refused('ledger sums stay what they are of');
CREATE TRIGGER ledger_sum_remains BEFORE DELETE OR TRUNCATE ON ledger_sum
    FOR EACH STATEMENT EXECUTE FUNCTION refused('ledger sums never vanish');

-- An operator is one actor, from wherever they acted: `operator 3 (os user alice)` is `operator 3`.
CREATE INDEX audit_actor ON audit ((CASE WHEN substr(actor, 1, 9) = 'operator ' THEN rtrim(substr(actor, 1, length(actor) - length(ltrim(actor, 'operator 0123456789')))) ELSE actor END), at, id);
CREATE INDEX audit_action ON audit (action, at, id);
CREATE INDEX audit_at ON audit (at, id);
