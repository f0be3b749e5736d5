-- Restores, for PostgreSQL: the same table and guards as 0019_restore.sqlite.sql, which says why.

CREATE TABLE restore (
    epoch BIGINT PRIMARY KEY CHECK (epoch >= 1),
    taken_at BIGINT NOT NULL,
    restored_at BIGINT NOT NULL,
    last_transfer BIGINT NOT NULL,
    last_seal BIGINT NOT NULL,
    done_by TEXT NOT NULL CHECK (done_by <> ''),
    CHECK (taken_at <= restored_at)
);
CREATE FUNCTION restore_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.epoch IS DISTINCT FROM (SELECT convert_from(value, 'UTF8')::bigint FROM constant WHERE name = 'epoch') THEN
        RAISE check_violation USING MESSAGE = 'restore: is not of the epoch that has begun';
    END IF;
    IF NEW.last_transfer IS DISTINCT FROM (SELECT coalesce(max(id), 0) FROM transfer)
        OR NEW.last_seal IS DISTINCT FROM (SELECT coalesce(max(number), 0) FROM seal)
    THEN
        RAISE check_violation USING MESSAGE = 'restore: does not say where the database ended';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER restore_begins BEFORE INSERT ON restore FOR EACH ROW EXECUTE FUNCTION restore_begins();
CREATE TRIGGER restore_stays BEFORE UPDATE ON restore FOR EACH STATEMENT EXECUTE FUNCTION refused('restores never change');
CREATE TRIGGER restore_remains BEFORE DELETE OR TRUNCATE ON restore
    FOR EACH STATEMENT EXECUTE FUNCTION refused('restores never vanish');
