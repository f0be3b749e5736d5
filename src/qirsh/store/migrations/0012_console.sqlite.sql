-- Sessions of the operator console: one an operator, apart from those of the wallet.

CREATE TABLE operator_session (
    person INTEGER PRIMARY KEY REFERENCES operator DEFERRABLE INITIALLY DEFERRED,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    session_generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL CHECK (expires_at > created_at),
    address TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT;
