-- Requests, for PostgreSQL: the same tables and guards as 0007_requests.sqlite.sql, which says why.

CREATE TABLE request_log (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 4) = 'req_'),
    at BIGINT NOT NULL,
    key TEXT NOT NULL,
    account BIGINT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL CHECK (length(path) <= 200),
    status BIGINT NOT NULL CHECK (status BETWEEN 100 AND 999),
    code TEXT NOT NULL,
    payment BIGINT,
    took_ms BIGINT NOT NULL CHECK (took_ms >= 0),
    address TEXT NOT NULL,
    skipped BIGINT NOT NULL CHECK (skipped >= 0)
);
CREATE INDEX request_log_account ON request_log (account, at, id);
CREATE INDEX request_log_account_class ON request_log (account, (status / 100), at, id);
CREATE INDEX request_log_key ON request_log (key, at, id);
CREATE INDEX request_log_key_class ON request_log (key, (status / 100), at, id);
CREATE INDEX request_log_payment ON request_log (payment, at, id) WHERE payment IS NOT NULL;
CREATE INDEX request_log_at ON request_log ((at + 0));

CREATE TABLE api_key_use (
    key TEXT PRIMARY KEY REFERENCES api_key,
    at BIGINT NOT NULL,
    address TEXT NOT NULL
);

CREATE TRIGGER request_log_stays BEFORE UPDATE ON request_log FOR EACH STATEMENT EXECUTE FUNCTION refused('logged requests never change');
