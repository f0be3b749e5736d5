-- Statements of the bank, for PostgreSQL: the same tables and guards as 0014_bank_statements.sqlite.sql, which says why.

CREATE TABLE bank_format (
    house BIGINT PRIMARY KEY REFERENCES account,
    format TEXT NOT NULL CHECK (length(format) BETWEEN 2 AND 4000),
    changed_by BIGINT NOT NULL REFERENCES operator,
    changed_at BIGINT NOT NULL
);

CREATE TABLE bank_statement (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'bs_'),
    house BIGINT NOT NULL REFERENCES account,
    name TEXT NOT NULL CHECK (length(name) <= 200),
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    imported_by BIGINT NOT NULL REFERENCES operator,
    imported_at BIGINT NOT NULL,
    first_day TEXT NOT NULL CHECK (length(first_day) = 10),
    last_day TEXT NOT NULL CHECK (length(last_day) = 10 AND last_day >= first_day),
    lines BIGINT NOT NULL CHECK (lines >= 1),
    closing TEXT NOT NULL CHECK (length(closing) BETWEEN 2 AND 1000),
    time_zone TEXT NOT NULL CHECK (time_zone <> ''),
    state TEXT NOT NULL CHECK (state IN ('loading', 'imported', 'undone')),
    stored BIGINT NOT NULL CHECK (stored BETWEEN 0 AND lines),
    CHECK (state <> 'imported' OR stored = lines)
);
CREATE INDEX bank_statement_house ON bank_statement (house, imported_at, id);
CREATE INDEX bank_statement_day ON bank_statement (house, last_day, imported_at) WHERE state = 'imported';

CREATE TABLE bank_line (
    house BIGINT NOT NULL REFERENCES account,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    day TEXT NOT NULL CHECK (length(day) = 10),
    amount BIGINT NOT NULL CHECK (amount <> 0 AND amount BETWEEN -999999999999999999 AND 999999999999999999),
    currency TEXT NOT NULL REFERENCES currency,
    reference TEXT NOT NULL CHECK (length(reference) <= 140),
    text_sealed BYTEA NOT NULL,
    added_at BIGINT NOT NULL,
    files BIGINT NOT NULL CHECK (files >= 1),
    matched TEXT,
    PRIMARY KEY (house, digest),
    UNIQUE (house, digest, matched)
);
CREATE INDEX bank_line_unmatched ON bank_line (house, day, digest) WHERE matched IS NULL;
CREATE INDEX bank_line_day ON bank_line (house, day, digest);

CREATE TABLE bank_statement_line (
    statement TEXT NOT NULL REFERENCES bank_statement,
    line BYTEA NOT NULL,
    house BIGINT NOT NULL,
    number BIGINT NOT NULL CHECK (number >= 1),
    PRIMARY KEY (statement, line),
    FOREIGN KEY (house, line) REFERENCES bank_line (house, digest)
);
CREATE UNIQUE INDEX bank_statement_line_number ON bank_statement_line (statement, number) WHERE number > 0;
CREATE INDEX bank_statement_line_line ON bank_statement_line (line, house);

CREATE TABLE bank_match (
    house BIGINT NOT NULL,
    reference TEXT NOT NULL,
    line BYTEA NOT NULL,
    matched_by BIGINT NOT NULL REFERENCES operator,
    matched_at BIGINT NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('auto', 'hand')),
    PRIMARY KEY (house, reference),
    UNIQUE (line, house),
    UNIQUE (house, reference, line),
    FOREIGN KEY (house, reference) REFERENCES bank_order (house, reference),
    FOREIGN KEY (house, line, reference) REFERENCES bank_line (house, digest, matched) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE bank_line ADD FOREIGN KEY (house, matched, digest) REFERENCES bank_match (house, reference, line)
    DEFERRABLE INITIALLY DEFERRED;

CREATE INDEX bank_order_of_house ON bank_order (house, booked_at, reference) WHERE booked_at > 0;
CREATE INDEX bank_order_amount ON bank_order (house, currency, amount, booked_at) WHERE amount > 0;

CREATE FUNCTION bank_papers_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added b LEFT JOIN account a ON a.number = b.house
        WHERE (a.kind = 'house' AND a.mode = 'live') IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = TG_ARGV[0];
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_formats_begin AFTER INSERT ON bank_format REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION bank_papers_begin('bank format: not of a live house account');
CREATE TRIGGER bank_format_stays BEFORE UPDATE ON bank_format FOR EACH ROW
    WHEN (NEW.house <> OLD.house) EXECUTE FUNCTION refused('bank format: its house account never changes');
CREATE TRIGGER bank_format_remains BEFORE DELETE OR TRUNCATE ON bank_format
    FOR EACH STATEMENT EXECUTE FUNCTION refused('bank formats never vanish');

CREATE TRIGGER bank_statements_begin AFTER INSERT ON bank_statement REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION bank_papers_begin('bank statement: not of a live house account');
CREATE TRIGGER bank_statement_stays BEFORE UPDATE ON bank_statement FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.house <> OLD.house OR NEW.name <> OLD.name OR NEW.digest <> OLD.digest
        OR NEW.imported_by <> OLD.imported_by OR NEW.imported_at <> OLD.imported_at OR NEW.first_day <> OLD.first_day
        OR NEW.last_day <> OLD.last_day OR NEW.lines <> OLD.lines OR NEW.closing <> OLD.closing OR NEW.time_zone <> OLD.time_zone)
    EXECUTE FUNCTION refused('bank statement: what was imported never changes');
CREATE TRIGGER bank_statement_moves BEFORE UPDATE ON bank_statement FOR EACH ROW
    WHEN ((OLD.state = 'undone' AND NEW.state <> 'undone') OR (OLD.state = 'imported' AND NEW.state = 'loading'))
    EXECUTE FUNCTION refused('bank statement: is imported once, and taken back once');
CREATE FUNCTION bank_statements_are_whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM changed s WHERE s.state = 'imported'
        AND s.lines <> (SELECT count(*) FROM bank_statement_line WHERE statement = s.id))
    THEN
        RAISE check_violation USING MESSAGE = 'bank statement: imported without its lines';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_statements_are_whole AFTER UPDATE ON bank_statement REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION bank_statements_are_whole();
CREATE TRIGGER bank_statement_remains BEFORE DELETE OR TRUNCATE ON bank_statement
    FOR EACH STATEMENT EXECUTE FUNCTION refused('bank statements never vanish');

CREATE TRIGGER bank_line_stays BEFORE UPDATE ON bank_line FOR EACH ROW
    WHEN (NEW.house <> OLD.house OR NEW.digest <> OLD.digest OR NEW.day <> OLD.day OR NEW.amount <> OLD.amount
        OR NEW.currency <> OLD.currency OR NEW.reference <> OLD.reference OR NEW.added_at <> OLD.added_at)
    EXECUTE FUNCTION refused('bank line: what the bank says never changes');
CREATE FUNCTION bank_lines_are_matched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A plan that is made while there are few matches is kept while thousands come: of a line that has none the house
    -- must not lead to an index, or each would be compared with all of them.
    IF EXISTS (SELECT 1 FROM changed l WHERE CASE
        WHEN l.matched IS NULL THEN EXISTS (SELECT 1 FROM bank_match m WHERE m.line = l.digest AND m.house + 0 = l.house)
        ELSE NOT EXISTS (SELECT 1 FROM bank_match m
            WHERE m.house = l.house AND m.reference = l.matched AND m.line = l.digest) END)
    THEN
        RAISE check_violation USING MESSAGE = 'bank line: does not say what its match says';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_lines_are_matched AFTER UPDATE ON bank_line REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION bank_lines_are_matched();

CREATE FUNCTION bank_statement_lines_belong() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added l LEFT JOIN bank_statement s ON s.id = l.statement WHERE (s.house = l.house) IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'bank statement line: of another house account';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_statement_lines_belong AFTER INSERT ON bank_statement_line REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION bank_statement_lines_belong();
CREATE TRIGGER bank_statement_line_stays BEFORE UPDATE ON bank_statement_line
    FOR EACH STATEMENT EXECUTE FUNCTION refused('lines of a bank statement never change');

CREATE FUNCTION bank_matches_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added m WHERE NOT EXISTS (SELECT 1 FROM bank_line l
        JOIN transfer t ON t.bank_order = m.reference AND t.currency = l.currency
        AND ((t.debit = m.house AND t.amount = l.amount) OR (t.credit = m.house AND t.amount = -l.amount))
        WHERE l.house = m.house AND l.digest = m.line))
    THEN
        RAISE check_violation USING MESSAGE = 'bank match: line and order are not the same money';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_matches_begin AFTER INSERT ON bank_match REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION bank_matches_begin();
CREATE TRIGGER bank_match_stays BEFORE UPDATE ON bank_match FOR EACH STATEMENT EXECUTE FUNCTION refused('bank matches never change');
