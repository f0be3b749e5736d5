-- What takes two operators happens with their agreement alone: a proposal that is done, at the moment of its decision.

CREATE INDEX proposal_done ON proposal (subject, decided_at) WHERE state = 'done';

CREATE TRIGGER stop_takes_two BEFORE UPDATE ON stop
WHEN OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM proposal p
    WHERE p.subject = 'stop ' || NEW.id AND p.state = 'done' AND p.decided_at = NEW.lifted_at
    AND p.action = 'audit lift' AND p.command ->> 'id' = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'stop: lifted without the agreement of two operators'); END;
