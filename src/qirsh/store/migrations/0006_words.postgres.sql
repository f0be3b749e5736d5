-- Finding payments, for PostgreSQL: the same as 0006_words.sqlite.sql, which says why.

-- By bytes: words are only ever compared whole, and a language's order costs more.
CREATE TABLE payment_word (
    merchant BIGINT NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    payment BIGINT NOT NULL,
    earlier BYTEA NOT NULL CHECK (length(earlier) % 16 = 0),
    PRIMARY KEY (merchant, word, created_at, payment)
);

CREATE INDEX payment_refunded ON payment (merchant, created_at, number) WHERE refunded_amount > 0;

DELETE FROM indexed_block;
