-- Restores: an epoch begins with each, so that no id is given twice.

CREATE TABLE restore (
    epoch INTEGER PRIMARY KEY CHECK (epoch >= 1),
    taken_at INTEGER NOT NULL,
    restored_at INTEGER NOT NULL,
    last_transfer INTEGER NOT NULL,
    last_seal INTEGER NOT NULL,
    done_by TEXT NOT NULL CHECK (done_by <> ''),
    CHECK (taken_at <= restored_at)
) STRICT;
-- The epoch is raised before. By the last transfer it is known of which epoch each is.
CREATE TRIGGER restore_begins BEFORE INSERT ON restore BEGIN
    SELECT RAISE(ROLLBACK, 'restore: is not of the epoch that has begun')
    WHERE NEW.epoch IS NOT (SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM constant WHERE name = 'epoch');
    SELECT RAISE(ROLLBACK, 'restore: does not say where the database ended')
    WHERE NEW.last_transfer IS NOT (SELECT coalesce(max(id), 0) FROM transfer)
        OR NEW.last_seal IS NOT (SELECT coalesce(max(number), 0) FROM seal);
END;
CREATE TRIGGER restore_is_new BEFORE INSERT ON restore WHEN EXISTS (SELECT 1 FROM restore WHERE epoch = NEW.epoch)
BEGIN SELECT RAISE(ROLLBACK, 'restores are never replaced'); END;
CREATE TRIGGER restore_stays BEFORE UPDATE ON restore BEGIN SELECT RAISE(ROLLBACK, 'restores never change'); END;
CREATE TRIGGER restore_remains BEFORE DELETE ON restore BEGIN SELECT RAISE(ROLLBACK, 'restores never vanish'); END;
