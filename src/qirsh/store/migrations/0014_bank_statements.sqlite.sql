-- What the bank says: how it writes its files, the files, their lines, and the bank order that a line shows.
-- A line is kept once however many files have it. A match moves no money, and may be taken back.

CREATE TABLE bank_format (
    house INTEGER PRIMARY KEY REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    format TEXT NOT NULL CHECK (length(format) BETWEEN 2 AND 4000),
    changed_by INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    changed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE bank_statement (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'bs_'),
    house INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL CHECK (length(name) <= 200),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    imported_by INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    imported_at INTEGER NOT NULL,
    first_day TEXT NOT NULL CHECK (length(first_day) = 10),
    last_day TEXT NOT NULL CHECK (length(last_day) = 10 AND last_day >= first_day),
    lines INTEGER NOT NULL CHECK (lines >= 1),
    closing TEXT NOT NULL CHECK (length(closing) BETWEEN 2 AND 1000),
    time_zone TEXT NOT NULL CHECK (time_zone <> ''),
    state TEXT NOT NULL CHECK (state IN ('loading', 'imported', 'undone')),
    stored INTEGER NOT NULL CHECK (stored BETWEEN 0 AND lines),
    CHECK (state <> 'imported' OR stored = lines)
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_statement_house ON bank_statement (house, imported_at, id);
CREATE INDEX bank_statement_day ON bank_statement (house, last_day, imported_at) WHERE state = 'imported';

CREATE TABLE bank_line (
    house INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    day TEXT NOT NULL CHECK (length(day) = 10),
    amount INTEGER NOT NULL CHECK (amount <> 0 AND amount BETWEEN -999999999999999999 AND 999999999999999999),
    currency TEXT NOT NULL REFERENCES currency DEFERRABLE INITIALLY DEFERRED,
    reference TEXT NOT NULL CHECK (length(reference) <= 140),
    text_sealed BLOB NOT NULL,
    added_at INTEGER NOT NULL,
    files INTEGER NOT NULL CHECK (files >= 1),
    matched TEXT,
    PRIMARY KEY (house, digest),
    UNIQUE (house, digest, matched),
    -- A line says of which order it is, and the match says of which line: never one without the other.
    FOREIGN KEY (house, matched, digest) REFERENCES bank_match (house, reference, line) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_line_unmatched ON bank_line (house, day, digest) WHERE matched IS NULL;
CREATE INDEX bank_line_day ON bank_line (house, day, digest);

CREATE TABLE bank_statement_line (
    statement TEXT NOT NULL REFERENCES bank_statement DEFERRABLE INITIALLY DEFERRED,
    line BLOB NOT NULL,
    house INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    PRIMARY KEY (statement, line),
    FOREIGN KEY (house, line) REFERENCES bank_line (house, digest) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
-- Of all of them: so that nobody looks a line up by its key along it.
CREATE UNIQUE INDEX bank_statement_line_number ON bank_statement_line (statement, number) WHERE number > 0;
CREATE INDEX bank_statement_line_line ON bank_statement_line (line, house);

CREATE TABLE bank_match (
    house INTEGER NOT NULL,
    reference TEXT NOT NULL,
    line BLOB NOT NULL,
    matched_by INTEGER NOT NULL REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    matched_at INTEGER NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('auto', 'hand')),
    PRIMARY KEY (house, reference),
    UNIQUE (house, line),
    UNIQUE (house, reference, line),
    FOREIGN KEY (house, reference) REFERENCES bank_order (house, reference) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (house, line, reference) REFERENCES bank_line (house, digest, matched) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

-- For those that no line shows, and those that a line may show.
CREATE INDEX bank_order_of_house ON bank_order (house, booked_at, reference) WHERE booked_at > 0;
CREATE INDEX bank_order_amount ON bank_order (house, currency, amount, booked_at) WHERE amount > 0;

CREATE TRIGGER bank_format_begins BEFORE INSERT ON bank_format
WHEN NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.house AND kind = 'house' AND mode = 'live')
BEGIN SELECT RAISE(ROLLBACK, 'bank format: not of a live house account'); END;
CREATE TRIGGER bank_format_is_new BEFORE INSERT ON bank_format WHEN EXISTS (SELECT 1 FROM bank_format WHERE house = NEW.house)
BEGIN SELECT RAISE(ROLLBACK, 'bank formats are never replaced'); END;
CREATE TRIGGER bank_format_stays BEFORE UPDATE ON bank_format WHEN NEW.house <> OLD.house
BEGIN SELECT RAISE(ROLLBACK, 'bank format: its house account never changes'); END;
CREATE TRIGGER bank_format_remains BEFORE DELETE ON bank_format BEGIN SELECT RAISE(ROLLBACK, 'bank formats never vanish'); END;

CREATE TRIGGER bank_statement_begins BEFORE INSERT ON bank_statement BEGIN
    SELECT RAISE(ROLLBACK, 'bank statement: not of a live house account')
    WHERE NOT EXISTS (SELECT 1 FROM account WHERE number = NEW.house AND kind = 'house' AND mode = 'live');
    SELECT RAISE(ROLLBACK, 'bank statements are never replaced')
    WHERE EXISTS (SELECT 1 FROM bank_statement WHERE id = NEW.id);
END;
CREATE TRIGGER bank_statement_moves BEFORE UPDATE ON bank_statement BEGIN
    SELECT RAISE(ROLLBACK, 'bank statement: what was imported never changes')
    WHERE NEW.id <> OLD.id OR NEW.house <> OLD.house OR NEW.name <> OLD.name OR NEW.digest <> OLD.digest
        OR NEW.imported_by <> OLD.imported_by OR NEW.imported_at <> OLD.imported_at OR NEW.first_day <> OLD.first_day
        OR NEW.last_day <> OLD.last_day OR NEW.lines <> OLD.lines OR NEW.closing <> OLD.closing OR NEW.time_zone <> OLD.time_zone;
    SELECT RAISE(ROLLBACK, 'bank statement: is imported once, and taken back once')
    WHERE (OLD.state = 'undone' AND NEW.state <> 'undone') OR (OLD.state = 'imported' AND NEW.state = 'loading');
    SELECT RAISE(ROLLBACK, 'bank statement: imported without its lines')
    WHERE NEW.state = 'imported' AND NEW.lines <> (SELECT count(*) FROM bank_statement_line WHERE statement = NEW.id);
END;
CREATE TRIGGER bank_statement_remains BEFORE DELETE ON bank_statement
BEGIN SELECT RAISE(ROLLBACK, 'bank statements never vanish'); END;

CREATE TRIGGER bank_line_is_new BEFORE INSERT ON bank_line
WHEN EXISTS (SELECT 1 FROM bank_line WHERE house = NEW.house AND digest = NEW.digest)
BEGIN SELECT RAISE(ROLLBACK, 'bank lines are never replaced'); END;
CREATE TRIGGER bank_line_stays BEFORE UPDATE ON bank_line
WHEN NEW.house <> OLD.house OR NEW.digest <> OLD.digest OR NEW.day <> OLD.day OR NEW.amount <> OLD.amount
    OR NEW.currency <> OLD.currency OR NEW.reference <> OLD.reference OR NEW.added_at <> OLD.added_at
BEGIN SELECT RAISE(ROLLBACK, 'bank line: what the bank says never changes'); END;
-- Written after its match, and when that is gone: also where references are not looked at.
CREATE TRIGGER bank_line_is_matched BEFORE UPDATE ON bank_line
WHEN NEW.matched IS NOT (SELECT reference FROM bank_match WHERE house = NEW.house AND line = NEW.digest)
BEGIN SELECT RAISE(ROLLBACK, 'bank line: does not say what its match says'); END;

CREATE TRIGGER bank_statement_line_is_new BEFORE INSERT ON bank_statement_line BEGIN
    SELECT RAISE(ROLLBACK, 'lines of a bank statement are never replaced')
    WHERE EXISTS (SELECT 1 FROM bank_statement_line WHERE statement = NEW.statement AND line = NEW.line)
        OR EXISTS (SELECT 1 FROM bank_statement_line WHERE statement = NEW.statement AND number = NEW.number AND number > 0);
    SELECT RAISE(ROLLBACK, 'bank statement line: of another house account')
    WHERE NOT EXISTS (SELECT 1 FROM bank_statement WHERE id = NEW.statement AND house = NEW.house);
END;
CREATE TRIGGER bank_statement_line_stays BEFORE UPDATE ON bank_statement_line
BEGIN SELECT RAISE(ROLLBACK, 'lines of a bank statement never change'); END;

CREATE TRIGGER bank_match_begins BEFORE INSERT ON bank_match BEGIN
    SELECT RAISE(ROLLBACK, 'bank match: a line shows one order, and an order is shown by one line')
    WHERE EXISTS (SELECT 1 FROM bank_match WHERE house = NEW.house AND reference = NEW.reference)
        OR EXISTS (SELECT 1 FROM bank_match WHERE house = NEW.house AND line = NEW.line);
    -- The house account is debited where money came in at the bank, whatever kind of order it was.
    SELECT RAISE(ROLLBACK, 'bank match: line and order are not the same money')
    WHERE NOT EXISTS (SELECT 1 FROM bank_line l JOIN transfer t ON t.bank_order = NEW.reference AND t.currency = l.currency
        AND ((t.debit = NEW.house AND t.amount = l.amount) OR (t.credit = NEW.house AND t.amount = -l.amount))
        WHERE l.house = NEW.house AND l.digest = NEW.line);
END;
CREATE TRIGGER bank_match_stays BEFORE UPDATE ON bank_match BEGIN SELECT RAISE(ROLLBACK, 'bank matches never change'); END;
