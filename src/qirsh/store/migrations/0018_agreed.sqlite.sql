-- What takes two operators happens with their agreement alone: a proposal that is done, at the moment of its decision.

CREATE INDEX proposal_done ON proposal (subject, decided_at) WHERE state = 'done';

CREATE TRIGGER stop_takes_two BEFORE UPDATE ON stop
WHEN OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM proposal p
    WHERE p.subject = 'stop ' || NEW.id AND p.state = 'done' AND p.decided_at = NEW.lifted_at
    AND p.action = 'audit lift' AND p.command ->> 'id' = NEW.id)
BEGIN SELECT RAISE(ROLLBACK, 'stop: lifted without the agreement of two operators'); END;

-- But for a person who has erased themselves.
CREATE TRIGGER account_takes_two BEFORE UPDATE ON account
WHEN NEW.state = 'closed' AND OLD.state <> 'closed'
    AND NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'account ' || NEW.number AND p.state = 'done' AND p.decided_at = NEW.updated_at
        AND p.action = 'account close' AND p.command ->> 'account' = NEW.number)
    AND NOT EXISTS (SELECT 1 FROM person WHERE id = NEW.owner AND account = NEW.number AND erased_at = NEW.updated_at)
BEGIN SELECT RAISE(ROLLBACK, 'account: closed without the agreement of two operators'); END;
