-- Webhooks, for PostgreSQL: the same tables and guards as 0003_webhooks.sqlite.sql, which says why.
-- Deliveries have no foreign key, like events: their guard looks for what they refer to, once a statement.

CREATE TABLE webhook_endpoint (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'we_'),
    account BIGINT NOT NULL REFERENCES account,
    url TEXT NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    types TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'paused', 'stopped', 'removed')),
    reason TEXT NOT NULL CHECK (reason IN ('', 'failing', 'gone')),
    secret_sealed BYTEA NOT NULL,
    old_secret_sealed BYTEA NOT NULL,
    old_secret_until BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK ((state = 'stopped') = (reason <> '')),
    CHECK ((state = 'removed') = (length(secret_sealed) = 0)),
    CHECK ((old_secret_until IS NULL) = (length(old_secret_sealed) = 0)),
    CHECK (state <> 'removed' OR old_secret_until IS NULL)
);
CREATE INDEX webhook_endpoint_account ON webhook_endpoint (account, created_at) WHERE state <> 'removed';

CREATE TABLE webhook_queue (
    endpoint TEXT PRIMARY KEY REFERENCES webhook_endpoint,
    account BIGINT NOT NULL REFERENCES account,
    next BIGINT NOT NULL CHECK (next >= 1),
    failures BIGINT NOT NULL CHECK (failures >= 0),
    resting_since BIGINT,
    due_at BIGINT,
    replay_next BIGINT,
    replay_until BIGINT,
    told TEXT NOT NULL CHECK (told IN ('', 'failing', 'stopped')),
    told_at BIGINT,
    CHECK ((resting_since IS NULL) = (due_at IS NULL)),
    CHECK ((replay_next IS NULL) = (replay_until IS NULL)),
    CHECK (replay_next BETWEEN 1 AND replay_until),
    CHECK (replay_until < next),
    CHECK (told = '' OR told_at IS NOT NULL)
) WITH (fillfactor = 50);
CREATE INDEX webhook_queue_resting ON webhook_queue (resting_since) WHERE resting_since IS NOT NULL;
CREATE INDEX webhook_queue_told ON webhook_queue (told) WHERE told <> '';

CREATE TABLE webhook_delivery (
    endpoint TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('delivered', 'waiting', 'failed')),
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    step BIGINT NOT NULL CHECK (step BETWEEN 0 AND 10),
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    tried_at BIGINT,
    took_ms BIGINT NOT NULL CHECK (took_ms >= 0),
    status BIGINT CHECK (status BETWEEN 100 AND 999),
    reason TEXT NOT NULL CHECK (reason IN ('', 'status', 'redirect', 'timeout', 'no_connection', 'no_public_address', 'bad_certificate', 'bad_answer')),
    excerpt TEXT NOT NULL CHECK (length(excerpt) <= 1000),
    PRIMARY KEY (endpoint, sequence),
    CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
    CHECK ((attempts = 0) = (tried_at IS NULL)),
    CHECK (step <= attempts),
    CHECK (state <> 'delivered' OR (reason = '' AND attempts > 0)),
    CHECK (state <> 'failed' OR (reason <> '' AND step = 10))
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint, due_at) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_open ON webhook_delivery (endpoint, state, sequence) WHERE state <> 'delivered';
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

CREATE TABLE webhook_attempt (
    endpoint TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    number BIGINT NOT NULL CHECK (number >= 1),
    at BIGINT NOT NULL,
    took_ms BIGINT NOT NULL CHECK (took_ms >= 0),
    status BIGINT CHECK (status BETWEEN 100 AND 999),
    reason TEXT NOT NULL CHECK (reason IN ('', 'status', 'redirect', 'timeout', 'no_connection', 'no_public_address', 'bad_certificate', 'bad_answer')),
    excerpt TEXT NOT NULL CHECK (length(excerpt) <= 1000),
    PRIMARY KEY (endpoint, sequence, number),
    FOREIGN KEY (endpoint, sequence) REFERENCES webhook_delivery ON DELETE CASCADE
);

CREATE TRIGGER webhook_endpoint_stays BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION refused('webhook endpoint: its id and account never change');
CREATE TRIGGER webhook_endpoint_ends BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
    WHEN (OLD.state = 'removed') EXECUTE FUNCTION refused('webhook endpoint: removed is removed');
CREATE FUNCTION webhook_endpoint_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM webhook_queue WHERE endpoint = NEW.id) THEN
        RAISE check_violation USING MESSAGE = 'webhook endpoint: removed before its queue';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER webhook_endpoint_leaves BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
    WHEN (NEW.state = 'removed') EXECUTE FUNCTION webhook_endpoint_leaves();
CREATE TRIGGER webhook_endpoint_remains BEFORE DELETE OR TRUNCATE ON webhook_endpoint FOR EACH STATEMENT EXECUTE FUNCTION refused('webhook endpoints never vanish');

CREATE FUNCTION webhook_queues_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added q LEFT JOIN webhook_endpoint n ON n.id = q.endpoint
        WHERE (n.account = q.account AND n.state <> 'removed') IS NOT TRUE)
    THEN
        RAISE check_violation USING MESSAGE = 'webhook queue: not of its endpoint''s account, or of a removed endpoint';
    END IF;
    IF EXISTS (SELECT 1 FROM added q LEFT JOIN event_counter c ON c.account = q.account WHERE q.next > 1 + coalesce(c.last, 0)) THEN
        RAISE check_violation USING MESSAGE = 'webhook queue: past the end of the log';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_queues_begin AFTER INSERT ON webhook_queue REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION webhook_queues_begin();
CREATE TRIGGER webhook_queue_belongs BEFORE UPDATE ON webhook_queue FOR EACH ROW
    WHEN (NEW.endpoint <> OLD.endpoint OR NEW.account <> OLD.account)
    EXECUTE FUNCTION refused('webhook queue: its endpoint and account never change');
CREATE TRIGGER webhook_queue_goes_on BEFORE UPDATE ON webhook_queue FOR EACH ROW
    WHEN (NEW.next < OLD.next) EXECUTE FUNCTION refused('webhook queue: never goes back');
CREATE FUNCTION webhook_queue_stays_within() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.next > 1 + coalesce((SELECT last FROM event_counter WHERE account = NEW.account), 0) THEN
        RAISE check_violation USING MESSAGE = 'webhook queue: past the end of the log';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER webhook_queue_stays_within BEFORE UPDATE ON webhook_queue FOR EACH ROW
    WHEN (NEW.next > OLD.next) EXECUTE FUNCTION webhook_queue_stays_within();

CREATE FUNCTION webhook_deliveries_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added d LEFT JOIN webhook_endpoint n ON n.id = d.endpoint
        LEFT JOIN event e ON e.account = n.account AND e.sequence = d.sequence WHERE e.sequence IS NULL)
    THEN
        RAISE check_violation USING MESSAGE = 'webhook delivery: of no event of its endpoint''s account';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_deliveries_begin AFTER INSERT ON webhook_delivery REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_begin();
CREATE TRIGGER webhook_delivery_stays BEFORE UPDATE ON webhook_delivery FOR EACH ROW
    WHEN (NEW.endpoint <> OLD.endpoint OR NEW.sequence <> OLD.sequence OR NEW.created_at <> OLD.created_at OR NEW.attempts < OLD.attempts)
    EXECUTE FUNCTION refused('webhook delivery: its endpoint and event never change, and its attempts only grow');
CREATE TRIGGER webhook_delivery_arrived BEFORE UPDATE ON webhook_delivery FOR EACH ROW
    WHEN (OLD.state = 'delivered' AND NEW.state <> 'delivered' AND (NEW.state <> 'waiting' OR NEW.step <> 0))
    EXECUTE FUNCTION refused('webhook delivery: what has arrived is only sent once more');

CREATE TRIGGER webhook_attempt_stays BEFORE UPDATE ON webhook_attempt FOR EACH STATEMENT EXECUTE FUNCTION refused('webhook attempts never change');
CREATE FUNCTION webhook_attempt_remains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM webhook_delivery WHERE endpoint = OLD.endpoint AND sequence = OLD.sequence) THEN
        RAISE check_violation USING MESSAGE = 'webhook attempts never vanish before their delivery';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER webhook_attempt_remains BEFORE DELETE ON webhook_attempt FOR EACH ROW EXECUTE FUNCTION webhook_attempt_remains();
CREATE TRIGGER webhook_attempts_remain BEFORE TRUNCATE ON webhook_attempt FOR EACH STATEMENT EXECUTE FUNCTION refused('webhook attempts never vanish before their delivery');
