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
