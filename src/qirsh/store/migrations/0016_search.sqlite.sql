-- What operators find people and businesses by, and what they write down about them.

-- The words of the names of live accounts of people and businesses, folded. Written in the commit that writes the name.
CREATE TABLE name_word (
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'commercial')),
    word TEXT NOT NULL CHECK (word <> ''),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (kind, word, account)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_word_account ON name_word (account, kind, word);
CREATE TRIGGER name_word_stays BEFORE UPDATE ON name_word
BEGIN SELECT RAISE(ROLLBACK, 'words of names never change'); END;
CREATE TRIGGER name_word_is_of_a_name BEFORE INSERT ON name_word
WHEN EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND (mode <> 'live' OR kind <> NEW.kind OR name = ''))
BEGIN SELECT RAISE(ROLLBACK, 'name word: of an account that is not found by its name'); END;

-- What operators write down for each other. The text is sealed; it is sealed again under another secret, and goes when
-- the person whom it is about is erased.
CREATE TABLE note (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 5) = 'note_'),
    subject TEXT NOT NULL CHECK (subject GLOB 'account [1-9]*' OR subject GLOB 'payment [1-9]*' OR subject GLOB 'person [1-9]*'),
    person INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    text_sealed BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX note_subject ON note (subject, at, id);
CREATE TRIGGER note_begins BEFORE INSERT ON note BEGIN
    SELECT RAISE(ROLLBACK, 'note: says nothing') WHERE length(NEW.text_sealed) = 0;
    SELECT RAISE(ROLLBACK, 'note: by somebody who is no operator')
    WHERE NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.person AND ended_at IS NULL);
    SELECT RAISE(ROLLBACK, 'note: about nothing that is there')
    WHERE NOT EXISTS (SELECT 1 FROM account WHERE number = CAST(substr(NEW.subject, 9) AS INTEGER)
            AND NEW.subject = 'account ' || number AND kind = 'commercial' AND mode = 'live')
        AND NOT EXISTS (SELECT 1 FROM payment WHERE number = CAST(substr(NEW.subject, 9) AS INTEGER)
            AND NEW.subject = 'payment ' || number)
        AND NOT EXISTS (SELECT 1 FROM person WHERE id = CAST(substr(NEW.subject, 8) AS INTEGER)
            AND NEW.subject = 'person ' || id AND erased_at IS NULL);
END;
CREATE TRIGGER note_stays BEFORE UPDATE ON note BEGIN
    SELECT RAISE(ROLLBACK, 'notes never change')
    WHERE NEW.id <> OLD.id OR NEW.subject <> OLD.subject OR NEW.person <> OLD.person OR NEW.at <> OLD.at
        OR length(OLD.text_sealed) = 0
        OR (length(NEW.text_sealed) > 0 AND substr(NEW.text_sealed, 1, 4) = substr(OLD.text_sealed, 1, 4));
    SELECT RAISE(ROLLBACK, 'note: is kept until the person whom it is about is erased')
    WHERE length(NEW.text_sealed) = 0
        AND NOT EXISTS (SELECT 1 FROM person WHERE id = CAST(substr(NEW.subject, 8) AS INTEGER)
            AND NEW.subject = 'person ' || id AND erased_at IS NOT NULL);
END;
CREATE TRIGGER note_remains BEFORE DELETE ON note BEGIN SELECT RAISE(ROLLBACK, 'notes never vanish'); END;
CREATE TRIGGER note_is_new BEFORE INSERT ON note WHEN EXISTS (SELECT 1 FROM note WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'notes are never replaced'); END;

-- What was done about one person, key or payment. No create, retrieve or pay writes an audit entry.
CREATE INDEX audit_subject ON audit (subject, id);
-- When an operator has looked at a business last.
CREATE INDEX audit_look ON audit (subject, actor, at) WHERE action = 'account.looked_at';
-- Payouts by the bank's reference.
CREATE INDEX payout_reference ON payout (reference) WHERE reference IS NOT NULL;
