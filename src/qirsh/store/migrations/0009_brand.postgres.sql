-- Brands, for PostgreSQL: the same tables and guards as 0009_brand.sqlite.sql, which says why.

CREATE TABLE brand (
    account BIGINT PRIMARY KEY REFERENCES account,
    colour TEXT NOT NULL CHECK (colour = '' OR (length(colour) = 7 AND substr(colour, 1, 1) = '#')),
    logo TEXT NOT NULL CHECK (length(logo) IN (0, 64)),
    picture BYTEA NOT NULL CHECK (length(picture) <= 40960),
    CHECK ((logo = '') = (length(picture) = 0))
);
CREATE INDEX brand_logo ON brand (logo) WHERE logo <> '';

CREATE TABLE brand_change (
    account BIGINT PRIMARY KEY REFERENCES account,
    id TEXT NOT NULL CHECK (substr(id, 1, 3) = 'bc_'),
    name TEXT NOT NULL CHECK (name <> ''),
    logo TEXT NOT NULL CHECK (length(logo) IN (0, 64)),
    picture BYTEA NOT NULL CHECK (length(picture) <= 40960),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'withdrawn')),
    reason TEXT NOT NULL,
    asked_by BIGINT NOT NULL REFERENCES person,
    asked_at BIGINT NOT NULL,
    decided_by BIGINT REFERENCES operator,
    decided_at BIGINT,
    CHECK ((state IN ('approved', 'refused')) = (decided_by IS NOT NULL)),
    CHECK ((decided_by IS NULL) = (decided_at IS NULL)),
    CHECK (decided_by IS NULL OR decided_by <> asked_by),
    CHECK (length(picture) = 0 OR (state = 'waiting' AND logo <> ''))
);
CREATE INDEX brand_change_waits ON brand_change (account) WHERE state = 'waiting';

CREATE FUNCTION brands_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added b LEFT JOIN account a ON a.number = b.account
        WHERE (a.kind = 'commercial' AND a.mode = 'live') IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = TG_ARGV[0];
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER brands_begin AFTER INSERT ON brand REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION brands_begin('brand: not of a live business');
CREATE TRIGGER brand_stays BEFORE UPDATE ON brand FOR EACH ROW
    WHEN (NEW.account <> OLD.account) EXECUTE FUNCTION refused('brand: its business never changes');
CREATE TRIGGER brand_remains BEFORE DELETE OR TRUNCATE ON brand FOR EACH STATEMENT EXECUTE FUNCTION refused('brands never vanish');
CREATE TRIGGER brand_changes_begin AFTER INSERT ON brand_change REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION brands_begin('brand change: not of a live business');
CREATE TRIGGER brand_change_stays BEFORE UPDATE ON brand_change FOR EACH ROW
    WHEN (NEW.account <> OLD.account OR (NEW.id = OLD.id AND (OLD.state <> 'waiting' OR NEW.name <> OLD.name OR NEW.logo <> OLD.logo
        OR NEW.asked_by <> OLD.asked_by OR NEW.asked_at <> OLD.asked_at)))
    EXECUTE FUNCTION refused('brand change: decided once, and as it was asked for');
CREATE TRIGGER brand_change_remains BEFORE DELETE OR TRUNCATE ON brand_change
    FOR EACH STATEMENT EXECUTE FUNCTION refused('brand changes never vanish');
