-- Of which month's statement each business was told.

CREATE TABLE statement_notice (
    account BIGINT PRIMARY KEY REFERENCES account,
    month BIGINT NOT NULL CHECK (month BETWEEN 200001 AND 299912 AND month % 100 BETWEEN 1 AND 12)
);
CREATE TRIGGER statement_notice_goes_on BEFORE UPDATE ON statement_notice FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.month <= OLD.month)
    EXECUTE FUNCTION refused('statement notice: months only go on');
CREATE TRIGGER statement_notice_remains BEFORE DELETE OR TRUNCATE ON statement_notice
    FOR EACH STATEMENT EXECUTE FUNCTION refused('statement notices never vanish');
