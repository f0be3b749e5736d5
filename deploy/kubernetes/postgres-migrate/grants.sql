-- As docs/operating.md has them, which says what they are for.
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO qirsh;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO qirsh;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO qirsh;
REVOKE UPDATE ON transfer, event, audit, credential_log, payment_word, payment_act, seal, restore, webhook_attempt FROM qirsh;
REVOKE INSERT, UPDATE ON currency, schema_migration, schema_guard FROM qirsh;
GRANT DELETE ON pin, session, operator_session, login, appointment, passkey, challenge, identity, identity_image, mail, member, member_cap, saved_view, invitation, bank_account, request_log, payment_attempt, stored_response, webhook_queue, webhook_delivery, writer, account_total, bank_line, bank_statement_line, bank_match, name_word TO qirsh;
