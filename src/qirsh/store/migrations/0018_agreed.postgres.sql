-- What takes two operators happens with their agreement alone: a proposal that is done, at the moment of its decision.

CREATE INDEX proposal_done ON proposal (subject, decided_at) WHERE state = 'done';

CREATE FUNCTION stop_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'stop ' || NEW.id AND p.state = 'done' AND p.decided_at = NEW.lifted_at
        AND p.action = 'audit lift' AND p.command::jsonb ->> 'id' = NEW.id::text)
    THEN
        RAISE check_violation USING MESSAGE = 'stop: lifted without the agreement of two operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER stop_takes_two BEFORE UPDATE ON stop FOR EACH ROW
    WHEN (OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL) EXECUTE FUNCTION stop_takes_two();

-- But for a person who has erased themselves.
CREATE FUNCTION account_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'account ' || NEW.number AND p.state = 'done' AND p.decided_at = NEW.updated_at
        AND p.action = 'account close' AND p.command::jsonb ->> 'account' = NEW.number::text)
        AND NOT EXISTS (SELECT 1 FROM person
            WHERE id = NEW.owner AND account = NEW.number AND erased_at = NEW.updated_at)
    THEN
        RAISE check_violation USING MESSAGE = 'account: closed without the agreement of two operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER account_takes_two BEFORE UPDATE ON account FOR EACH ROW
    WHEN (NEW.state = 'closed' AND OLD.state <> 'closed') EXECUTE FUNCTION account_takes_two();

-- Their last agreement counts. Who was let in again from the machine itself is an admin besides.
CREATE FUNCTION operator_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'person ' || NEW.person AND p.state = 'done' AND p.decided_at = NEW.ended_at
        AND p.action = 'operator end' AND p.command::jsonb ->> 'person' = NEW.person::text)
    THEN
        RAISE check_violation USING MESSAGE = 'operator: ended without the agreement of two operators';
    END IF;
    IF NEW.roles <> OLD.roles
        AND NOT EXISTS (SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
            WHERE p.subject = 'person ' || NEW.person AND p.state = 'done' AND p.action = 'operator roles'
            AND held ->> 'person' = NEW.person::text AND held ->> 'roles' = NEW.roles
            AND NOT EXISTS (SELECT 1 FROM proposal l WHERE l.subject = p.subject AND l.state = 'done'
                AND l.action = 'operator roles' AND l.decided_at > p.decided_at))
        AND NOT (NEW.roles LIKE 'admin%'
            AND EXISTS (SELECT 1 FROM recovery WHERE person = NEW.person AND roles = OLD.roles AND read_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM unnest(string_to_array(NEW.roles, ' ')) e
                WHERE e <> 'admin' AND strpos(' ' || OLD.roles || ' ', ' ' || e || ' ') = 0))
    THEN
        RAISE check_violation USING MESSAGE = 'operator: other roles without the agreement of two operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER operator_takes_two BEFORE UPDATE ON operator FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.person = OLD.person AND NEW.created_at = OLD.created_at)
    EXECUTE FUNCTION operator_takes_two();

-- A shop that is suspended refunds nothing by itself. Each agreement is good for one refund, which has its id.
CREATE FUNCTION transfer_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM account WHERE number = NEW.debit AND state = 'suspended')
        AND (SELECT count(*) FROM transfer t
            WHERE t.payment = NEW.payment AND t.kind = 'refund' AND t.amount = NEW.amount
            AND t.created_at = NEW.created_at
            AND NOT EXISTS (SELECT 1 FROM refund r WHERE r.payment = t.payment AND r.sequence = t.debit_sequence))
        > (SELECT count(*) FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
            WHERE p.subject = 'account ' || NEW.debit AND p.state = 'done' AND p.decided_at = NEW.created_at
            AND p.action = 'refund' AND held ->> 'payment' = NEW.payment::text AND held ->> 'amount' = NEW.amount::text
            AND NOT EXISTS (SELECT 1 FROM refund r WHERE r.id = held ->> 'id'))
    THEN
        RAISE check_violation
            USING MESSAGE = 'transfer: a refund of a suspended shop without the agreement of two operators';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER transfer_takes_two AFTER INSERT ON transfer FOR EACH ROW
    WHEN (NEW.kind = 'refund') EXECUTE FUNCTION transfer_takes_two();
CREATE FUNCTION refund_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM payment y JOIN account a ON a.number = y.merchant
        WHERE y.number = NEW.payment AND a.state = 'suspended'
        AND NOT EXISTS (SELECT 1 FROM proposal p, LATERAL (SELECT p.command::jsonb AS held) c
            WHERE p.subject = 'account ' || a.number AND p.state = 'done' AND p.decided_at = NEW.created_at
            AND p.action = 'refund' AND held ->> 'payment' = NEW.payment::text
            AND held ->> 'amount' = NEW.amount::text AND held ->> 'id' = NEW.id))
    THEN
        RAISE check_violation USING MESSAGE = 'refund: of a suspended shop without the agreement of two operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refund_takes_two BEFORE INSERT ON refund FOR EACH ROW EXECUTE FUNCTION refund_takes_two();

-- Those of the first start are the service's own.
CREATE FUNCTION account_house_takes_two() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'house ' || NEW.name AND p.state = 'done' AND p.decided_at = NEW.created_at
        AND p.action = 'house open' AND p.command::jsonb ->> 'name' = NEW.name)
    THEN
        RAISE check_violation USING MESSAGE = 'account: a house account without the agreement of two operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER account_house_takes_two BEFORE INSERT ON account FOR EACH ROW
    WHEN (NEW.kind = 'house' AND NEW.mode = 'live' AND NEW.name NOT IN ('bank', 'corrections'))
    EXECUTE FUNCTION account_house_takes_two();
