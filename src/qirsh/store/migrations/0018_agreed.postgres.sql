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
