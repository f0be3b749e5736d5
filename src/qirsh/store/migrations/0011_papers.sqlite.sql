-- Of which month's statement each business was told, and messages between operators and owners.

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

-- What operators and the owner of a business write to each other.
CREATE TABLE shop_message (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'msg_'),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    author TEXT NOT NULL CHECK (author IN ('operator', 'owner')),
    person INTEGER NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED,
    text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
    at INTEGER NOT NULL,
    read_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX shop_message_account ON shop_message (account, at, id);
CREATE INDEX shop_message_unread ON shop_message (author, at, id) WHERE read_at IS NULL;
CREATE TRIGGER shop_message_stays BEFORE UPDATE ON shop_message
WHEN NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.author <> OLD.author OR NEW.person <> OLD.person
    OR NEW.text <> OLD.text OR NEW.at <> OLD.at OR OLD.read_at IS NOT NULL
BEGIN SELECT RAISE(ROLLBACK, 'shop messages are read once and never change'); END;
CREATE TRIGGER shop_message_remains BEFORE DELETE ON shop_message
BEGIN SELECT RAISE(ROLLBACK, 'shop messages never vanish'); END;
CREATE TRIGGER shop_message_is_new BEFORE INSERT ON shop_message
WHEN EXISTS (SELECT 1 FROM shop_message WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'shop messages are never replaced'); END;
