"""The one table of rules, and how a batch goes through it: what it needs, then what becomes of each command in turn.

A command sees the effects of those before it. A refusal is an outcome and never harms its neighbours.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from qirsh.domain import command as c
from qirsh.domain import operator_command as o
from qirsh.domain import people_command as p
from qirsh.domain.idempotency import Once, Remembered, is_forgotten
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules import (
    account,
    cash,
    constant,
    identity,
    lease,
    mail,
    metadata_index,
    operator,
    payment,
    payout,
    people,
    record,
    refund,
    seal,
    secret,
    stop,
    trial,
)
from qirsh.domain.rules.operator_authority import Decide, Facts, Needed, by_operator
from qirsh.domain.state import Needs, State


class Answer(msgspec.Struct, frozen=True):
    """What a face will say of something done: status and bytes, ready to be remembered in the same commit."""

    status: int
    body: bytes
    replayed: bool = False


class Submission(msgspec.Struct, frozen=True, eq=False):
    """A command, and how its caller wants to hear of it."""

    command: c.Command
    once: Once | None = None
    render: Callable[[Any, State], Answer] | None = None


def _no_facts(_command: c.Command, _needs: Needs) -> None:
    pass


def _no_needs(_command: c.Command, _state: State, _needs: Needs) -> None:
    pass


# Immutable facts read without locks, the rows that are locked, and the decision on them. What an operator does is
# `by_operator`, whoever else may do it too.
RULES: Final[dict[type[c.Command], tuple[Facts, Needed, Decide]]] = {
    c.CreatePayment: (payment.create_facts, payment.create_needs, payment.create),
    c.Pay: (payment.pay_facts, payment.pay_needs, payment.pay),
    c.Cancel: (payment.cancel_facts, payment.cancel_needs, payment.cancel),
    c.RefundPayment: (refund.refund_facts, refund.refund_needs, refund.refund),
    c.PayAsTest: (trial.pay_facts, trial.pay_needs, trial.pay),
    c.ExpireAsTest: (trial.expire_facts, trial.expire_needs, trial.expire),
    c.Expire: (payment.expire_facts, payment.expire_needs, payment.expire),
    c.AddPerson: by_operator(_no_facts, people.add_person_needs, people.add_person),
    c.ChangePin: by_operator(_no_facts, people.change_pin_needs, people.change_pin),
    c.OpenSession: (_no_facts, people.open_session_needs, people.open_session),
    c.CloseSession: (_no_facts, people.close_session_needs, people.close_session),
    c.OpenHouseAccount: (_no_facts, account.open_house_needs, account.open_house),
    c.RequestCommercial: by_operator(_no_facts, account.request_needs, account.request),
    c.MoveAccount: by_operator(account.move_facts, account.move_needs, account.move),
    c.IssueKey: by_operator(account.issue_key_facts, account.issue_key_needs, account.issue_key),
    c.RevokeKey: by_operator(account.revoke_key_facts, account.revoke_key_needs, account.revoke_key),
    c.AskCash: by_operator(_no_facts, cash.ask_needs, cash.ask),
    c.ConfirmCash: by_operator(cash.confirm_facts, cash.confirm_needs, cash.confirm),
    c.IndexMetadata: (_no_facts, metadata_index.index_needs, metadata_index.index),
    c.HoldLease: (_no_facts, lease.hold_needs, lease.hold),
    c.FixConstant: (_no_facts, constant.fix_needs, constant.fix),
    c.SealEntries: (_no_facts, seal.seal_needs, seal.seal_entries),
    c.StopMoney: (_no_facts, stop.stop_needs, stop.stop),
    c.LiftStop: by_operator(_no_facts, stop.lift_needs, stop.lift),
    c.RecordCheck: by_operator(_no_facts, _no_needs, record.check),
    o.MakeOperator: (_no_facts, operator.make_needs, operator.make),
    o.AppointOperator: by_operator(_no_facts, operator.appoint_needs, operator.appoint),
    o.WithdrawAppointment: by_operator(_no_facts, operator.withdraw_needs, operator.withdraw),
    o.AskOperatorEnd: by_operator(operator.ask_end_facts, operator.ask_end_needs, operator.ask_end),
    o.ConfirmOperator: by_operator(operator.confirm_facts, operator.confirm_needs, operator.confirm),
    o.AcceptAppointment: (operator.accept_facts, operator.accept_needs, operator.accept),
    p.StartChallenge: (_no_facts, secret.start_needs, secret.start),
    p.ForgetChallenge: (_no_facts, secret.forget_needs, secret.forget),
    p.Join: (_no_facts, people.join_needs, people.join),
    p.ResetPassword: (secret.reset_facts, secret.reset_needs, secret.reset),
    p.ChangePassword: (_no_facts, secret.change_password_needs, secret.change_password),
    p.RenewPasswordHash: (_no_facts, secret.renew_hash_needs, secret.renew_hash),
    p.ChangeEmail: (_no_facts, secret.change_email_needs, secret.change_email),
    p.SetSecondFactor: (_no_facts, secret.second_factor_needs, secret.second_factor),
    p.UnlockPin: (_no_facts, secret.unlock_pin_needs, secret.unlock_pin),
    p.AddPasskey: (_no_facts, secret.add_passkey_needs, secret.add_passkey),
    p.RemovePasskey: (_no_facts, secret.remove_passkey_needs, secret.remove_passkey),
    p.UseProof: (_no_facts, people.use_proof_needs, people.use_proof),
    p.CloseSessions: (_no_facts, people.close_sessions_needs, people.close_sessions),
    p.ChangeProfile: (_no_facts, people.change_profile_needs, people.change_profile),
    p.SubmitIdentity: (_no_facts, identity.submit_needs, identity.submit),
    p.RejectIdentity: by_operator(identity.reject_facts, identity.reject_needs, identity.reject),
    p.RecordLook: by_operator(_no_facts, _no_needs, record.look),
    p.ForgetImages: (_no_facts, identity.forget_needs, identity.forget),
    p.ErasePerson: (_no_facts, identity.erase_needs, identity.erase),
    p.AskPayout: (_no_facts, payout.ask_needs, payout.ask),
    p.CancelPayout: (payout.end_facts, payout.end_needs, payout.cancel),
    p.RefusePayout: by_operator(payout.end_facts, payout.end_needs, payout.refuse),
    p.MailSent: (_no_facts, mail.sent_needs, mail.sent),
    p.MailFailed: (_no_facts, mail.failed_needs, mail.failed),
    p.Notify: (_no_facts, mail.notify_needs, mail.notify),
    p.RecordExport: (_no_facts, _no_needs, record.export),
    p.RecordFailure: (_no_facts, _no_needs, record.failure),
}


def facts_needed(batch: Sequence[Submission]) -> Needs:
    """What must be known, unlocked, before it is clear which rows to lock."""
    needs = Needs()
    for submission in batch:
        RULES[type(submission.command)][0](submission.command, needs)
    return needs


def rows_needed(batch: Sequence[Submission], state: State) -> Needs:
    """The rows that the batch is decided on."""
    needs = Needs()
    for submission in batch:
        if submission.once is not None:
            needs.remembered.add((submission.once.account, submission.once.key))
        RULES[type(submission.command)][1](submission.command, state, needs)
    return needs


def decide(batch: Sequence[Submission], state: State) -> list[Any]:
    """Carry out the batch in order, in memory. One outcome each: a result, an answer, or a refusal."""
    return [_decide_one(submission, state) for submission in batch]


def _decide_one(submission: Submission, state: State) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
    once = submission.once
    if once is not None:
        before = state.remembered.get((once.account, once.key))
        if before is not None and not is_forgotten(before, state.now):
            if before.fingerprint != once.fingerprint:
                return Refused(Refusal.IDEMPOTENCY_KEY_REUSED)
            return Answer(before.status, before.body, replayed=True)
    if state.is_money_stopped and type(submission.command) in c.MOVES_MONEY:
        return Refused(Refusal.MONEY_STOPPED)
    outcome = RULES[type(submission.command)][2](submission.command, state)
    if submission.render is None or type(outcome) is Refused:
        return outcome
    answer = submission.render(outcome, state)
    if once is not None:
        state.remembered.put(
            (once.account, once.key),
            Remembered(once.account, once.key, once.fingerprint, answer.status, answer.body, state.now),
        )
    return answer
