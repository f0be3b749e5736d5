-- Sessions of the operator console: one an operator, apart from those of the wallet.

CREATE TABLE operator_session (
    person BIGINT PRIMARY KEY REFERENCES operator,
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    session_generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL CHECK (expires_at > created_at),
    address TEXT NOT NULL,
    agent TEXT NOT NULL
);
