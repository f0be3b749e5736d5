-- What API keys were used for lately, and when each was used last. A comfort: it may vanish, and nothing else refers to it.

CREATE TABLE request_log (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'req_'),
    at INTEGER NOT NULL,
    key TEXT NOT NULL,
    account INTEGER NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL CHECK (length(path) <= 200),
    status INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    code TEXT NOT NULL,
    payment INTEGER,
    took_ms INTEGER NOT NULL CHECK (took_ms >= 0),
    address TEXT NOT NULL,
    skipped INTEGER NOT NULL CHECK (skipped >= 0)
) STRICT, WITHOUT ROWID;
-- By account and by key, also those of one class of statuses; of one payment; and the oldest.
CREATE INDEX request_log_account ON request_log (account, at, id);
CREATE INDEX request_log_account_class ON request_log (account, (status / 100), at, id);
CREATE INDEX request_log_key ON request_log (key, at, id);
CREATE INDEX request_log_key_class ON request_log (key, (status / 100), at, id);
CREATE INDEX request_log_payment ON request_log (payment, at, id) WHERE payment IS NOT NULL;
-- For the oldest of all. Lists of one account are by `at` itself, and so never tempted to read everybody's.
CREATE INDEX request_log_at ON request_log (at + 0);

CREATE TABLE api_key_use (
    key TEXT PRIMARY KEY REFERENCES api_key DEFERRABLE INITIALLY DEFERRED,
    at INTEGER NOT NULL,
    address TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER request_log_stays BEFORE UPDATE ON request_log
BEGIN SELECT RAISE(ROLLBACK, 'logged requests never change'); END;
CREATE TRIGGER request_log_is_new BEFORE INSERT ON request_log WHEN EXISTS (SELECT 1 FROM request_log WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'logged requests are never replaced'); END;
