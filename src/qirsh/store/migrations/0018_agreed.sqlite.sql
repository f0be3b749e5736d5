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

-- Their last agreement counts. Who was let in again from the machine itself is an admin besides.
CREATE TRIGGER operator_takes_two BEFORE UPDATE ON operator
WHEN OLD.ended_at IS NULL AND NEW.person = OLD.person AND NEW.created_at = OLD.created_at BEGIN
    SELECT RAISE(ROLLBACK, 'operator: ended without the agreement of two operators')
    WHERE NEW.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'person ' || NEW.person AND p.state = 'done' AND p.decided_at = NEW.ended_at
        AND p.action = 'operator end' AND p.command ->> 'person' = NEW.person);
    SELECT RAISE(ROLLBACK, 'operator: other roles without the agreement of two operators')
    WHERE NEW.roles <> OLD.roles
        AND NOT EXISTS (SELECT 1 FROM proposal p
            WHERE p.subject = 'person ' || NEW.person AND p.state = 'done' AND p.action = 'operator roles'
            AND p.command ->> 'person' = NEW.person AND p.command ->> 'roles' = NEW.roles
            AND NOT EXISTS (SELECT 1 FROM proposal l WHERE l.subject = p.subject AND l.state = 'done'
                AND l.action = 'operator roles' AND l.decided_at > p.decided_at))
        AND NOT (NEW.roles GLOB 'admin*'
            AND EXISTS (SELECT 1 FROM recovery WHERE person = NEW.person AND roles = OLD.roles AND read_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM json_each('["' || replace(NEW.roles, ' ', '","') || '"]') e
                WHERE e.value <> 'admin' AND instr(' ' || OLD.roles || ' ', ' ' || e.value || ' ') = 0));
END;

-- A shop that is suspended refunds nothing by itself. Each agreement is good for one refund, which has its id.
CREATE TRIGGER transfer_takes_two BEFORE INSERT ON transfer
WHEN NEW.kind = 'refund' AND (SELECT state FROM account WHERE number = NEW.debit) = 'suspended'
    AND (SELECT count(*) FROM transfer t
        WHERE t.payment = NEW.payment AND t.kind = 'refund' AND t.amount = NEW.amount AND t.created_at = NEW.created_at
        AND NOT EXISTS (SELECT 1 FROM refund r WHERE r.payment = t.payment AND r.sequence = t.debit_sequence))
    >= (SELECT count(*) FROM proposal p
        WHERE p.subject = 'account ' || NEW.debit AND p.state = 'done' AND p.decided_at = NEW.created_at
        AND p.action = 'refund' AND p.command ->> 'payment' = NEW.payment AND p.command ->> 'amount' = NEW.amount
        AND NOT EXISTS (SELECT 1 FROM refund r WHERE r.id = p.command ->> 'id'))
BEGIN SELECT RAISE(ROLLBACK, 'transfer: a refund of a suspended shop without the agreement of two operators'); END;
CREATE TRIGGER refund_takes_two BEFORE INSERT ON refund
WHEN EXISTS (SELECT 1 FROM payment y JOIN account a ON a.number = y.merchant
        WHERE y.number = NEW.payment AND a.state = 'suspended'
        AND NOT EXISTS (SELECT 1 FROM proposal p
            WHERE p.subject = 'account ' || a.number AND p.state = 'done' AND p.decided_at = NEW.created_at
            AND p.action = 'refund' AND p.command ->> 'payment' = NEW.payment
            AND p.command ->> 'amount' = NEW.amount AND p.command ->> 'id' = NEW.id))
BEGIN SELECT RAISE(ROLLBACK, 'refund: of a suspended shop without the agreement of two operators'); END;

-- Those of the first start are the service's own.
CREATE TRIGGER account_house_takes_two BEFORE INSERT ON account
WHEN NEW.kind = 'house' AND NEW.mode = 'live' AND NEW.name NOT IN ('bank', 'corrections')
    AND NOT EXISTS (SELECT 1 FROM proposal p
        WHERE p.subject = 'house ' || NEW.name AND p.state = 'done' AND p.decided_at = NEW.created_at
        AND p.action = 'house open' AND p.command ->> 'name' = NEW.name)
BEGIN SELECT RAISE(ROLLBACK, 'account: a house account without the agreement of two operators'); END;
