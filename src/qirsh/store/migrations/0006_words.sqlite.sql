-- Finding payments: by their words, by their exact amount, and those of which something went back.

-- Filled in a moment after the payments, by blocks of their numbers. A row holds its newest payment, and those of the
-- same second that were written down with it: created_at and number, 8 bytes each. The amount is a word too: '=' and its
-- minor units; and so is a text under a key of the metadata that has no words: '~' and its beginning.
CREATE TABLE payment_word (
    merchant INTEGER NOT NULL,
    word TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    payment INTEGER NOT NULL,
    earlier BLOB NOT NULL CHECK (length(earlier) % 16 = 0),
    PRIMARY KEY (merchant, word, created_at, payment)
) STRICT, WITHOUT ROWID;

-- Only a refund writes it: of a payment that is created or paid nothing has gone back.
CREATE INDEX payment_refunded ON payment (merchant, created_at) WHERE refunded_amount > 0;

-- Payments that are there already are looked at once more, for their words.
DELETE FROM indexed_block;
