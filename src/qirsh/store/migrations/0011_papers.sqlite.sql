-- Of which month's statement each business was told.

CREATE TABLE statement_notice (
    account INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    month INTEGER NOT NULL CHECK (month BETWEEN 200001 AND 299912 AND month % 100 BETWEEN 1 AND 12)
) STRICT;
CREATE TRIGGER statement_notice_goes_on BEFORE UPDATE ON statement_notice
WHEN NEW.account <> OLD.account OR NEW.month <= OLD.month
BEGIN SELECT RAISE(ROLLBACK, 'statement notice: months only go on'); END;
CREATE TRIGGER statement_notice_remains BEFORE DELETE ON statement_notice
BEGIN SELECT RAISE(ROLLBACK, 'statement notices never vanish'); END;
CREATE TRIGGER statement_notice_is_new BEFORE INSERT ON statement_notice
WHEN EXISTS (SELECT 1 FROM statement_notice WHERE account = NEW.account)
BEGIN SELECT RAISE(ROLLBACK, 'statement notices are never replaced'); END;
