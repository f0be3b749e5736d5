-- Search and notes, for PostgreSQL: the same tables and guards as 0016_search.sqlite.sql, which says why.

-- By bytes: a range of words that begin alike is one in no language's order.
CREATE TABLE name_word (
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('personal', 'commercial')),
    word TEXT COLLATE "C" NOT NULL CHECK (word <> ''),
    account BIGINT NOT NULL REFERENCES account,
    PRIMARY KEY (kind, word, account)
);
CREATE INDEX name_word_account ON name_word (account, kind, word);
CREATE TRIGGER name_word_stays BEFORE UPDATE ON name_word FOR EACH STATEMENT EXECUTE FUNCTION refused('words of names never change');
CREATE FUNCTION name_word_is_of_a_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM account WHERE number = NEW.account AND (mode <> 'live' OR kind <> NEW.kind OR name = '')) THEN
        RAISE check_violation USING MESSAGE = 'name word: of an account that is not found by its name';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER name_word_is_of_a_name BEFORE INSERT ON name_word
    FOR EACH ROW EXECUTE FUNCTION name_word_is_of_a_name();

CREATE TABLE note (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 5) = 'note_'),
    subject TEXT NOT NULL CHECK (subject ~ '^(account|payment|person) [1-9][0-9]{0,17}$'),
    person BIGINT NOT NULL REFERENCES operator,
    text_sealed BYTEA NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX note_subject ON note (subject, at, id);
CREATE FUNCTION note_begins() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about BIGINT := nullif(substring(NEW.subject from ' ([0-9]{1,18})$'), '')::bigint;
BEGIN
    IF length(NEW.text_sealed) = 0 THEN
        RAISE check_violation USING MESSAGE = 'note: says nothing';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM operator WHERE person = NEW.person AND ended_at IS NULL) THEN
        RAISE check_violation USING MESSAGE = 'note: by somebody who is no operator';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM account WHERE number = about
            AND NEW.subject = 'account ' || number AND kind = 'commercial' AND mode = 'live')
        AND NOT EXISTS (SELECT 1 FROM payment WHERE number = about AND NEW.subject = 'payment ' || number)
        AND NOT EXISTS (SELECT 1 FROM person WHERE id = about AND NEW.subject = 'person ' || id AND erased_at IS NULL)
    THEN
        RAISE check_violation USING MESSAGE = 'note: about nothing that is there';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER note_begins BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION note_begins();
CREATE FUNCTION note_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.subject <> OLD.subject OR NEW.person <> OLD.person OR NEW.at <> OLD.at
        OR length(OLD.text_sealed) = 0
        OR (length(NEW.text_sealed) > 0 AND substr(NEW.text_sealed, 1, 4) = substr(OLD.text_sealed, 1, 4))
    THEN
        RAISE check_violation USING MESSAGE = 'notes never change';
    END IF;
    IF length(NEW.text_sealed) = 0 AND NOT EXISTS (SELECT 1 FROM person
        WHERE id = substring(NEW.subject from ' ([0-9]{1,18})$')::bigint
        AND NEW.subject = 'person ' || id AND erased_at IS NOT NULL)
    THEN
        RAISE check_violation USING MESSAGE = 'note: is kept until the person whom it is about is erased';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER note_stays BEFORE UPDATE ON note FOR EACH ROW EXECUTE FUNCTION note_stays();
CREATE TRIGGER note_remains BEFORE DELETE OR TRUNCATE ON note FOR EACH STATEMENT EXECUTE FUNCTION refused('notes never vanish');

CREATE INDEX audit_subject ON audit (subject, id);
CREATE INDEX audit_look ON audit (subject, actor, at) WHERE action = 'account.looked_at';
CREATE INDEX payout_reference ON payout (reference) WHERE reference IS NOT NULL;
