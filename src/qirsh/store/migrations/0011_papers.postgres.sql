-- Of which month's statement each business was told, and messages between operators and owners.

CREATE TABLE statement_notice (
    account BIGINT PRIMARY KEY REFERENCES account,
    month BIGINT NOT NULL CHECK (month BETWEEN 200001 AND 299912 AND month % 100 BETWEEN 1 AND 12)
);
CREATE TRIGGER statement_notice_goes_on BEFORE UPDATE ON statement_notice FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR NEW.month <= OLD.month)
    EXECUTE FUNCTION refused('statement notice: months only go on');
CREATE TRIGGER statement_notice_remains BEFORE DELETE OR TRUNCATE ON statement_notice
    FOR EACH STATEMENT EXECUTE FUNCTION refused('statement notices never vanish');

-- What operators and the owner of a business write to each other.
CREATE TABLE shop_message (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'msg_'),
    account BIGINT NOT NULL REFERENCES account,
    author TEXT NOT NULL CHECK (author IN ('operator', 'owner')),
    person BIGINT NOT NULL REFERENCES person,
    text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
    at BIGINT NOT NULL,
    read_at BIGINT
);
CREATE INDEX shop_message_account ON shop_message (account, at, id);
CREATE INDEX shop_message_unread ON shop_message (author, at, id) WHERE read_at IS NULL;
CREATE TRIGGER shop_message_stays BEFORE UPDATE ON shop_message FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.author <> OLD.author OR NEW.person <> OLD.person
        OR NEW.text <> OLD.text OR NEW.at <> OLD.at OR OLD.read_at IS NOT NULL)
    EXECUTE FUNCTION refused('shop messages are read once and never change');
CREATE TRIGGER shop_message_remains BEFORE DELETE OR TRUNCATE ON shop_message
    FOR EACH STATEMENT EXECUTE FUNCTION refused('shop messages never vanish');
