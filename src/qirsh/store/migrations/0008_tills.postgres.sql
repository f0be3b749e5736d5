-- Tills, for PostgreSQL: the same table and guards as 0008_tills.sqlite.sql, which says why.

CREATE TABLE till (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 5) = 'till_'),
    account BIGINT NOT NULL REFERENCES account,
    name TEXT NOT NULL CHECK (name <> ''),
    currency TEXT NOT NULL REFERENCES currency,
    amount BIGINT CHECK (amount BETWEEN 1 AND 999999999999999),
    minimum BIGINT CHECK (minimum >= 1),
    maximum BIGINT CHECK (maximum BETWEEN minimum AND 999999999999999),
    note TEXT NOT NULL,
    created_by BIGINT NOT NULL REFERENCES person,
    created_at BIGINT NOT NULL,
    closed_at BIGINT,
    CONSTRAINT till_takes CHECK ((amount IS NULL) = (minimum IS NOT NULL) AND (minimum IS NULL) = (maximum IS NULL))
);
CREATE INDEX till_account ON till (account, closed_at, created_at, id);

CREATE FUNCTION tills_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added t LEFT JOIN account a ON a.number = t.account WHERE (a.kind = 'commercial') IS NOT TRUE) THEN
        RAISE check_violation USING MESSAGE = 'till: not of a business';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER tills_begin AFTER INSERT ON till REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION tills_begin();
CREATE TRIGGER till_stays BEFORE UPDATE ON till FOR EACH ROW
    WHEN (OLD.closed_at IS NOT NULL
        OR (NEW.id, NEW.account, NEW.name, NEW.currency, NEW.amount, NEW.minimum, NEW.maximum, NEW.note, NEW.created_by, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.account, OLD.name, OLD.currency, OLD.amount, OLD.minimum, OLD.maximum, OLD.note, OLD.created_by, OLD.created_at))
    EXECUTE FUNCTION refused('till: it is closed once, and nothing else of it changes');
CREATE TRIGGER till_remains BEFORE DELETE OR TRUNCATE ON till FOR EACH STATEMENT EXECUTE FUNCTION refused('tills never vanish');
