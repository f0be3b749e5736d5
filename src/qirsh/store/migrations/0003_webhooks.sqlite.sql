-- Webhooks: where events are sent, how far each endpoint has come in its account's log, and what became of each try.

-- A removed one stays for the record, without its secrets.
CREATE TABLE webhook_endpoint (
    id TEXT PRIMARY KEY CHECK (substr(id, 1, 3) = 'we_'),
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    url TEXT NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    types TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'paused', 'stopped', 'removed')),
    reason TEXT NOT NULL CHECK (reason IN ('', 'failing', 'gone')),
    secret_sealed BLOB NOT NULL,
    old_secret_sealed BLOB NOT NULL,
    old_secret_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((state = 'stopped') = (reason <> '')),
    CHECK ((state = 'removed') = (length(secret_sealed) = 0)),
    CHECK ((old_secret_until IS NULL) = (length(old_secret_sealed) = 0)),
    CHECK (state <> 'removed' OR old_secret_until IS NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoint_account ON webhook_endpoint (account, created_at) WHERE state <> 'removed';

CREATE TABLE webhook_queue (
    endpoint TEXT PRIMARY KEY REFERENCES webhook_endpoint DEFERRABLE INITIALLY DEFERRED,
    account INTEGER NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED,
    next INTEGER NOT NULL CHECK (next >= 1),
    failures INTEGER NOT NULL CHECK (failures >= 0),
    resting_since INTEGER,
    due_at INTEGER,
    replay_next INTEGER,
    replay_until INTEGER,
    told TEXT NOT NULL CHECK (told IN ('', 'failing', 'stopped')),
    told_at INTEGER,
    CHECK ((resting_since IS NULL) = (due_at IS NULL)),
    CHECK ((replay_next IS NULL) = (replay_until IS NULL)),
    CHECK (replay_next BETWEEN 1 AND replay_until),
    CHECK (replay_until < next),
    CHECK (told = '' OR told_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_queue_resting ON webhook_queue (resting_since) WHERE resting_since IS NOT NULL;
CREATE INDEX webhook_queue_told ON webhook_queue (told) WHERE told <> '';

-- An event that arrived at the first try has this one row.
CREATE TABLE webhook_delivery (
    endpoint TEXT NOT NULL REFERENCES webhook_endpoint DEFERRABLE INITIALLY DEFERRED,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('delivered', 'waiting', 'failed')),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    step INTEGER NOT NULL CHECK (step BETWEEN 0 AND 10),
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    tried_at INTEGER,
    took_ms INTEGER NOT NULL CHECK (took_ms >= 0),
    status INTEGER CHECK (status BETWEEN 100 AND 999),
    reason TEXT NOT NULL CHECK (reason IN ('', 'status', 'redirect', 'timeout', 'no_connection', 'no_public_address', 'bad_certificate', 'bad_answer')),
    excerpt TEXT NOT NULL CHECK (length(excerpt) <= 1000),
    PRIMARY KEY (endpoint, sequence),
    CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
    CHECK ((attempts = 0) = (tried_at IS NULL)),
    CHECK (step <= attempts),
    CHECK (state <> 'delivered' OR (reason = '' AND attempts > 0)),
    CHECK (state <> 'failed' OR (reason <> '' AND step = 10))
) STRICT, WITHOUT ROWID;
-- Of one endpoint: what is due, and the few that did not arrive, newest first; all others by the key.
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint, due_at) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_open ON webhook_delivery (endpoint, state, sequence) WHERE state <> 'delivered';
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

-- Tries before the latest one; they go with their delivery.
CREATE TABLE webhook_attempt (
    endpoint TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    at INTEGER NOT NULL,
    took_ms INTEGER NOT NULL CHECK (took_ms >= 0),
    status INTEGER CHECK (status BETWEEN 100 AND 999),
    reason TEXT NOT NULL CHECK (reason IN ('', 'status', 'redirect', 'timeout', 'no_connection', 'no_public_address', 'bad_certificate', 'bad_answer')),
    excerpt TEXT NOT NULL CHECK (length(excerpt) <= 1000),
    PRIMARY KEY (endpoint, sequence, number),
    FOREIGN KEY (endpoint, sequence) REFERENCES webhook_delivery ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TRIGGER webhook_endpoint_stays BEFORE UPDATE ON webhook_endpoint
WHEN NEW.id <> OLD.id OR NEW.account <> OLD.account OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ROLLBACK, 'webhook endpoint: its id and account never change'); END;
CREATE TRIGGER webhook_endpoint_ends BEFORE UPDATE ON webhook_endpoint WHEN OLD.state = 'removed'
BEGIN SELECT RAISE(ROLLBACK, 'webhook endpoint: removed is removed'); END;
-- The queue goes first, so that nothing is sent to what is removed.
CREATE TRIGGER webhook_endpoint_leaves BEFORE UPDATE ON webhook_endpoint
WHEN NEW.state = 'removed' AND EXISTS (SELECT 1 FROM webhook_queue WHERE endpoint = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'webhook endpoint: removed before its queue'); END;
CREATE TRIGGER webhook_endpoint_remains BEFORE DELETE ON webhook_endpoint
BEGIN SELECT RAISE(ROLLBACK, 'webhook endpoints never vanish'); END;
CREATE TRIGGER webhook_endpoint_is_new BEFORE INSERT ON webhook_endpoint
WHEN EXISTS (SELECT 1 FROM webhook_endpoint WHERE id = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'webhook endpoints are never replaced'); END;

CREATE TRIGGER webhook_queue_begins BEFORE INSERT ON webhook_queue
WHEN NOT EXISTS (SELECT 1 FROM webhook_endpoint WHERE id = NEW.endpoint AND account = NEW.account AND state <> 'removed')
BEGIN SELECT RAISE(ROLLBACK, 'webhook queue: not of its endpoint''s account, or of a removed endpoint'); END;
CREATE TRIGGER webhook_queue_is_new BEFORE INSERT ON webhook_queue
WHEN EXISTS (SELECT 1 FROM webhook_queue WHERE endpoint = NEW.endpoint)
BEGIN SELECT RAISE(ROLLBACK, 'webhook queues are never replaced'); END;
CREATE TRIGGER webhook_queue_belongs BEFORE UPDATE ON webhook_queue
WHEN NEW.endpoint <> OLD.endpoint OR NEW.account <> OLD.account
BEGIN SELECT RAISE(ROLLBACK, 'webhook queue: its endpoint and account never change'); END;
CREATE TRIGGER webhook_queue_goes_on BEFORE UPDATE ON webhook_queue WHEN NEW.next < OLD.next
BEGIN SELECT RAISE(ROLLBACK, 'webhook queue: never goes back'); END;
-- What is past the end of the log would be left out when it happens. The counter is written before.
CREATE TRIGGER webhook_queue_begins_within BEFORE INSERT ON webhook_queue
WHEN NEW.next > 1 + coalesce((SELECT last FROM event_counter WHERE account = NEW.account), 0)
BEGIN SELECT RAISE(ROLLBACK, 'webhook queue: past the end of the log'); END;
CREATE TRIGGER webhook_queue_stays_within BEFORE UPDATE ON webhook_queue
WHEN NEW.next > OLD.next AND NEW.next > 1 + coalesce((SELECT last FROM event_counter WHERE account = NEW.account), 0)
BEGIN SELECT RAISE(ROLLBACK, 'webhook queue: past the end of the log'); END;

CREATE TRIGGER webhook_delivery_begins BEFORE INSERT ON webhook_delivery
WHEN NOT EXISTS (SELECT 1 FROM webhook_endpoint n JOIN event e ON e.account = n.account AND e.sequence = NEW.sequence
    WHERE n.id = NEW.endpoint)
BEGIN SELECT RAISE(ROLLBACK, 'webhook delivery: of no event of its endpoint''s account'); END;
CREATE TRIGGER webhook_delivery_is_new BEFORE INSERT ON webhook_delivery
WHEN EXISTS (SELECT 1 FROM webhook_delivery WHERE endpoint = NEW.endpoint AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ROLLBACK, 'webhook deliveries are never replaced'); END;
CREATE TRIGGER webhook_delivery_stays BEFORE UPDATE ON webhook_delivery
WHEN NEW.endpoint <> OLD.endpoint OR NEW.sequence <> OLD.sequence OR NEW.created_at <> OLD.created_at OR NEW.attempts < OLD.attempts
BEGIN SELECT RAISE(ROLLBACK, 'webhook delivery: its endpoint and event never change, and its attempts only grow'); END;
CREATE TRIGGER webhook_delivery_arrived BEFORE UPDATE ON webhook_delivery
WHEN OLD.state = 'delivered' AND NEW.state <> 'delivered' AND (NEW.state <> 'waiting' OR NEW.step <> 0)
BEGIN SELECT RAISE(ROLLBACK, 'webhook delivery: what has arrived is only sent once more'); END;

CREATE TRIGGER webhook_attempt_stays BEFORE UPDATE ON webhook_attempt
BEGIN SELECT RAISE(ROLLBACK, 'webhook attempts never change'); END;
CREATE TRIGGER webhook_attempt_remains BEFORE DELETE ON webhook_attempt
WHEN EXISTS (SELECT 1 FROM webhook_delivery WHERE endpoint = OLD.endpoint AND sequence = OLD.sequence)
BEGIN SELECT RAISE(ROLLBACK, 'webhook attempts never vanish before their delivery'); END;
CREATE TRIGGER webhook_attempt_is_new BEFORE INSERT ON webhook_attempt
WHEN EXISTS (SELECT 1 FROM webhook_attempt WHERE endpoint = NEW.endpoint AND sequence = NEW.sequence AND number = NEW.number)
BEGIN SELECT RAISE(ROLLBACK, 'webhook attempts are never replaced'); END;
