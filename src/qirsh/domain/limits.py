"""Every bound of the service, in one place, each with its reason. Nothing else lives here."""

from typing import Final

# Fifteen digits stay exact in a double, so that a client in any language reads the amount it was sent.
AMOUNT_MAX: Final = 999_999_999_999_999
# A balance may hold many payments, and its sum with one more amount still fits 64 bits with room to spare.
BALANCE_MAX: Final = 999_999_999_999_999_999

NOTE_CHARACTERS_MAX: Final = 500  # What fits a pay page without scrolling past the button.
NOTE_LINES_MAX: Final = 10  # The same.
REFERENCE_CHARACTERS_MAX: Final = 64  # A UUID or an order number with a prefix.
URL_CHARACTERS_MAX: Final = 2048  # What every browser and proxy carries.
NAME_CHARACTERS_MAX: Final = 100  # A business name that a slip can print.

METADATA_BYTES_MAX: Final = 8192  # Room for references, not for documents: it is copied into each answer.
METADATA_KEYS_MAX: Final = 50  # Top-level keys; a list filter reads them.
METADATA_KEY_CHARACTERS_MAX: Final = 64
METADATA_FILTER_CHARACTERS_MAX: Final = 200  # Longer texts are kept, and cannot be searched for.
METADATA_DEPTH_MAX: Final = 5  # The object itself is depth 1.

PAYMENT_WORDS_MAX: Final = 32  # That a payment is found by: a row each, which cost more than the payment itself.
PAYMENT_WORD_CHARACTERS_MAX: Final = 40  # A UUID; of longer ones the beginning tells them apart.
PAYMENT_WORD_TEXT_MAX: Final = 2000  # Characters that are looked at for words: metadata may be a document.
SEARCH_CHARACTERS_MAX: Final = 200  # Of what is typed into a search box.
SEARCH_WORDS_MAX: Final = 8  # Of these, that are looked for: each is a look-up for each row that is looked at.

EXPIRES_IN_S_MIN: Final = 300  # A customer needs minutes to sign in and pay.
EXPIRES_IN_S_MAX: Final = 604_800  # A week: longer promises belong to invoices.
EXPIRES_IN_S_DEFAULT: Final = 3600

LIST_ITEMS_MAX: Final = 100  # A page of these is some hundred kilobytes at most of usual payments.
LIST_ITEMS_DEFAULT: Final = 20
LIST_LOOKED_AT_MAX: Final = 500  # RowSet a page looks at for those that fit; it then ends early and says how to go on.
EVENTS_LISTED_MS: Final = 90 * 24 * 3600 * 1000
EVENTS_LOOKED_AT_MAX: Final = 1000  # For those of one type; a page then ends early and says how to go on.

WAIT_S_MAX: Final = 30  # Below the idle limit of common proxies.
WAITS_OF_KEY_MAX: Final = 50  # A process: who waits for more payments at once pulls events.

BODY_BYTES_MAX: Final = 131_072  # The largest valid body with every character escaped, and some air.
FORM_BYTES_MAX: Final = 16_384  # A page's form: the longest password with every character escaped, and some air.
HEAD_BYTES_MAX: Final = 16_384
HEADERS_MAX: Final = 64
TARGET_BYTES_MAX: Final = 4096
PIPELINED_MAX: Final = 16  # Requests that wait behind one that is being answered.
RECEIVE_S_MAX: Final = 10  # A request that takes longer to arrive is an attack or a dead line.

CONNECTIONS_MAX: Final = 4096  # Of a process.
CONNECTIONS_OF_ADDRESS_MAX: Final = 256  # An office, or a provider's customers behind one address, with idle ones cut.
CONNECTIONS_OF_NETWORK_MAX: Final = 1024  # Of the addresses next to each other, which one client may have.

PICTURE_EDGE_MIN: Final = 300  # Pixels of the longer side: on less nobody can read a document.
PICTURE_BYTES_MAX: Final = 15 * 1024 * 1024  # A photograph of a document, as the largest phones take it.
PICTURE_PIXELS_MAX: Final = 51_000_000  # The same.
PICTURE_DECODED_PIXELS_MAX: Final = 25_000_000  # A larger JPEG must be of a shape that is decoded at half its size.
PICTURE_OTHER_PIXELS_MAX: Final = 12_500_000  # Of a PNG or WebP: only a JPEG can be decoded at half its size.
PICTURE_SIDE_PIXELS_MAX: Final = 2000  # Of what is kept: the small print of a card is readable.
PICTURE_SCANS_MAX: Final = 64  # Of a progressive JPEG: usual are ten. Each is a walk over the whole picture.
PICTURES_UNDER_WAY_MAX: Final = 8  # In a process: one is worked on, and the last waits some seconds.
PICTURES_OF_PERSON_MAX: Final = 2  # Of these: one of each person is in the queue, and one behind it.
UPLOADS_AT_ONCE: Final = 8  # In a process,
UPLOAD_BYTES_AT_ONCE: Final = 64 * 1024 * 1024  # of so many bytes in all, held twice while a handler reads them.
UPLOADS_OF_SESSION_MAX: Final = 2  # So that nobody alone keeps others from sending theirs.
UPLOAD_S_MAX: Final = 60  # Two pictures over a phone's line.
LOGO_UPLOAD_BYTES_MAX: Final = 4 * 1024 * 1024  # A logo as designers hand it out.
LOGO_SIDE_PIXELS_MAX: Final = 256  # Of what is kept: sharp on a phone at four times the pixels of the page.
LOGO_BYTES_MAX: Final = 40_960  # The same: a first visit of the pay page stays below a hundred kilobytes.
PART_HEAD_BYTES_MAX: Final = 1024  # Of a file or field in a form that carries files: its name and kind.

PASSKEY_CHALLENGE_MS: Final = 5 * 60 * 1000  # To find the phone, and to unlock it.
PASSKEY_ID_BYTES_MAX: Final = 1023  # WebAuthn, section 4.

STREAMS_AT_ONCE: Final = 16  # Answers that are made while they are sent, in a process: each takes some megabytes.
STREAMS_OF_SESSION_MAX: Final = 2  # So that nobody alone keeps others from theirs.
STREAM_STALLED_S_MAX: Final = 60  # A client that takes nothing for so long has gone, whatever its line says.

IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 255
IDEMPOTENCY_KEPT_MS: Final = 30 * 24 * 3600 * 1000
IDEMPOTENCY_FORGOTTEN_MS: Final = 31 * 24 * 3600 * 1000  # A day more: no clock that is a little ahead loses one.
RESPONSES_LOOKED_AT: Final = 200  # In one step of the response cleaner: ten million in half a day.

REFUNDS_MAX: Final = 20  # Of one payment: the payer hears of each, and its events and pages stay short.

PIN_DIGITS: Final = 6
PIN_ATTEMPTS_MAX: Final = 5  # One in 200,000 to guess before the lock.

PASSWORD_CHARACTERS_MIN: Final = 12
PASSWORD_GUESSES_MIN: Final = 100_000_000  # It would take to find it; online guessing never gets that far.
FIGURES_GUESSES_MIN: Final = 10**15  # Of digits and signs alone: telephone numbers and dates take fewer.
PASSWORD_CHARACTERS_MAX: Final = 1024  # Hashing is bounded work; nothing is truncated below this.
EMAIL_CHARACTERS_MAX: Final = 254  # RFC 5321.

PHONE_CHARACTERS_MAX: Final = 32  # Fifteen digits (E.164), with spaces and signs as people write them.

CODE_DIGITS: Final = 6  # Mailed codes; a million, of which few tries are left.
CODE_ATTEMPTS_MAX: Final = 5
WRONG_CODES_TOLD: Final = 3  # After a right password, in a row: somebody may know it. Its owner gets a mail.
WRONG_CODES_MAX: Final = 10  # The same, until the password opens nothing any more and has to be set anew.
RECOVERY_CODES: Final = 10
PASSKEYS_MAX: Final = 10  # Devices of one person; more are a list that nobody reads.
PAYOUTS_OPEN_MAX: Final = 5  # Of one account.
BANK_ACCOUNT_CHARACTERS_MIN: Final = 8  # Letters and digits: fewer are an account nowhere.
BANK_ACCOUNT_CHARACTERS_MAX: Final = 64  # An IBAN has 34; some banks have numbers of their own.
BANK_FILE_BYTES_MAX: Final = 6 * 1024 * 1024  # A statement of a busy month: 20,000 lines take four.
BANK_LINES_MAX: Final = 50_000  # Of one file: understood in some seconds. Who has more sends a file a week.
BANK_LINES_AT_ONCE: Final = 500  # Stored, removed or matched by one command: no pay waits long behind it.
BANK_LOADING_MS: Final = 2 * 60 * 1000  # An import that is not done by then was interrupted: the largest takes less.
BANK_COLUMNS_MAX: Final = 100
BANK_SKIPPED_MAX: Final = 100  # Lines above the table: a letterhead and the owner's address.
BANK_CELL_CHARACTERS_MAX: Final = 2000
BANK_REFERENCE_CHARACTERS_MAX: Final = 140  # ISO 20022 has 35 for most, and 140 for texts that banks put there.
BANK_DAY_FIRST: Final = "2000-01-01"  # Of a line: no bank sends older ones, and a mistyped year looks so.
BANK_DAYS_AHEAD_MAX: Final = 31  # Of a line, from today: value dates lie ahead by a few.
BANK_FAULTS_TOLD_MAX: Final = 20  # Of one file; who has mended these sees the next.
BANK_LINES_SHOWN_MAX: Final = 20  # Of a file before it is imported,
BANK_LISTED_MAX: Final = 50  # and of a list, a page.
BANK_SUGGESTED_MAX: Final = 5  # Orders that may be a line.
BANK_SUGGESTED_DAYS: Final = 7  # Before and after it: a weekend and a holiday.
HINT_CHARACTERS_MAX: Final = 500  # What operators tell their customers in one paragraph.

REPORT_DAYS_MAX: Final = 366  # A leap year.
STATEMENT_PDF_LINES_MAX: Final = 5000  # About 150 pages, and some seconds of a core.
STATEMENT_CSV_LINES_MAX: Final = 100_000  # What every spreadsheet opens.
STATEMENT_TOLD_AFTER_MS: Final = 6 * 3600 * 1000  # Of the first day of a month: mails come in the morning.
STATEMENTS_TOLD_AT_ONCE: Final = 200  # Businesses that are read with one query.
ZONE_AHEAD_MS_MAX: Final = 14 * 3600 * 1000  # Of UTC: nowhere a day begins earlier.
STATEMENT_MONTHS_MAX: Final = 120  # Of a business, in the list: ten years.
STATEMENT_LINES_AT_ONCE: Final = 1000  # Read with one query, so that no reader holds up the database for long.
EXPORT_ROWS_AT_ONCE: Final = 500  # The same, of an export: with the longest metadata some megabytes.
EXPORT_METADATA_COLUMNS_MAX: Final = 50  # The commonest keys; all others stand together in one column.
EXPORT_SAMPLES: Final = 10  # Places of an export where its metadata is looked at for the commonest keys,
EXPORT_SAMPLE_ROWS: Final = 200  # with so many payments at each: the first byte comes soon, however many there are.
DOCUMENTS_AT_ONCE: Final = 2  # Made at the same time, each with a core of its own,
DOCUMENTS_WAITING_MAX: Final = 8  # and so many under way at all; beyond it an honest 503 beats a long wait.

NOTICE_LATE_MS: Final = 24 * 3600 * 1000  # Nobody is told of older movements: by then they are no news.
NOTICE_DIGEST_MS: Final = 15_000  # Refunds of so long, by one shop to one person, are told in one letter.
NOTICE_SEALS_AT_ONCE: Final = 20  # Whose transfers the notifier tells of in one commit,
NOTICES_AT_ONCE: Final = 1000  # unless there are so many letters already.
AGENT_CHARACTERS_MAX: Final = 120

BUSINESSES_MAX: Final = 20  # Of one person; an owner of more talks to the operators anyway.
ACTIVITY_LINES_MAX: Final = 10_000  # Of a file of the activity log: some megabytes, and less than a second of work.
MESSAGE_CHARACTERS_MAX: Final = 2000  # Between operators and the owner of a business.
MESSAGES_IN_A_ROW_MAX: Final = 20  # Of an owner whom nobody has answered.
HITS_OF_KIND_MAX: Final = 20  # Of an operator's search: more are not read, but narrowed down.
NAMES_COUNTED_MAX: Final = 2000  # Names with a word, to find out which of several words tells most.
NAMES_LOOKED_AT_MAX: Final = 5000  # Names with that word, for those that have the other words too.
OPERATOR_NOTE_CHARACTERS_MAX: Final = 2000  # That operators write down for each other.
OPERATOR_NOTES_SHOWN_MAX: Final = 50  # The latest about one thing.
NOTES_FORGOTTEN_AT_ONCE: Final = 100  # About an erased person, in one commit.
ACCOUNT_LOOK_MS: Final = 3_600_000  # One audit entry tells that an operator looked at a business, for so long.
MESSAGES_SHOWN_MAX: Final = 50  # The latest of a business.
BANK_HINT_CHARACTERS: Final = 4  # Of the number of a bank account, kept with a payout.
BANK_ACCOUNTS_MAX: Final = 10  # Of one business.
BANK_ACCOUNT_NEW_MS: Final = 24 * 3600 * 1000  # Until money goes to one: a day to object in.
TILLS_OPEN_MAX: Final = 100  # Of one account: a page lists as many.
TILL_PAYMENT_MS_MAX: Final = 3600 * 1000  # Until a payment that a customer makes at a till expires.
SAVED_VIEWS_MAX: Final = 20  # Of one person at one account: a row of links that can still be overlooked.
VIEW_NAME_CHARACTERS_MAX: Final = 60
NEWER_SHOWN_MAX: Final = 99  # New payments that an open list tells of by their number; beyond it there are "more".
MEMBERS_MAX: Final = 50  # Who work at one business.
INVITATIONS_MAX: Final = 20  # Of one business that nobody has answered.
REFUND_DAY_MS_MIN: Final = 22 * 3600 * 1000  # Days on which clocks go forward have 23 hours.
INVITATION_MS: Final = 7 * 24 * 3600 * 1000
KEYS_MAX: Final = 100  # Of one business that work; a page shows as many. Operators may make more.
KEY_NETWORKS_MAX: Final = 20  # Of one key: some offices and a provider's ranges; each call is held against them.
KEY_OVERLAP_MS_MAX: Final = 7 * 24 * 3600 * 1000  # An old key works no longer beside its successor.
KEY_DAYS_MAX: Final = 3650  # Ten years; without an expiry a key lives until it is revoked.
REQUESTS_KEPT_MS: Final = 7 * 24 * 3600 * 1000  # What keys were used for: long enough to find yesterday's mistake.
REQUESTS_KEPT_OF_KEY: Final = 20  # Every two seconds in a process, of those that went well, and as many that did not;
REQUESTS_AT_ONCE: Final = 200  # and so many of all keys, in one command: no pay waits long behind it.
REQUESTS_KEYS_MAX: Final = 1000  # That a process keeps an eye on at once.
REQUEST_PATH_CHARACTERS_MAX: Final = 200
ATTEMPTS_OF_PAYMENT_MAX: Final = 20  # Failed tries to pay that are kept of one payment, the first ones,
ATTEMPTS_KEPT_MS: Final = 90 * 24 * 3600 * 1000  # for a season: long enough for a customer who complains.
ATTEMPTS_AT_ONCE: Final = 20  # Every two seconds in a process, in one command: no pay waits long behind it,
ATTEMPTS_OF_PAYMENT_AT_ONCE: Final = 5  # and of these so many of one payment.
ATTEMPTS_FORGOTTEN_AT_ONCE: Final = 200
KEY_USE_TOLD_MS: Final = 60_000  # The last use of a key is written down no more often than this.
KEY_END_TOLD_MS: Final = 14 * 24 * 3600 * 1000  # Before a key ends its owner is told: two weeks to replace it.
KEY_ENDS_AT_ONCE: Final = 100  # Keys of whose end the worker tells before it looks again.
OPERATOR_NEW_MS: Final = 7 * 24 * 3600 * 1000  # Until who made them and they count as two: a week to object in.
OPERATORS_LISTED_MAX: Final = 200  # Far more than anybody has.
PROPOSALS_LOOKED_AT_MAX: Final = 1000  # The same: those that wait, for one by the bank's reference.
PROPOSALS_LAPSED_AT_ONCE: Final = 64
RESETS_AT_ONCE: Final = 50  # Of PINs and second factors, in one look.
SESSION_MS: Final = 12 * 3600 * 1000
SESSION_IDLE_MS: Final = 30 * 60 * 1000  # Without use, until money moves only after a new sign-in: NIST SP 800-63B.
RECENT_PROOF_MS: Final = 10 * 60 * 1000  # Until acts that could harm its owner ask for the password again.
SESSION_USE_KEPT_MS: Final = 60_000  # A browser is told of its last use no more often than this.

QUEUE_COMMANDS_MAX: Final = 4096  # About half a second of work; beyond it an honest 503 beats a long wait.
BATCH_COMMANDS_MAX: Final = 512  # Keeps one commit short, so that a lone caller behind it waits little.
PAYMENT_NUMBER_BLOCK: Final = 10_000  # Numbers a process reserves at a time; a restart skips the rest.
EPOCH_NUMBERS: Final = 10_000_000_000  # Payment numbers of one epoch; a restore jumps to the next.
EPOCH_ACCOUNTS: Final = 100_000_000  # The same of accounts, and of people.
EPOCHS_MAX: Final = 900  # So many times that are all account numbers.
INDEXED_AT_ONCE_MAX: Final = 300  # Payments whose words are written down in one commit: the more, the more they share.
INDEXED_ROWS_MAX: Final = 1500  # And about so many rows, so that no pay waits long behind that commit.
INDEXED_TOGETHER_MAX: Final = 32  # Payments in one row: half a kilobyte of them.
INDEXED_A_LOOK_MAX: Final = 3000  # About so many rows in a few commits; then the indexer lets others go first.
BLOCK_USED_S_MAX: Final = 24 * 3600  # Numbers of a block are not given out later than this,
BLOCK_WATCHED_S: Final = 7 * 24 * 3600  # so that the payment indexer may leave a quiet block after this.
SESSIONS_FORGOTTEN_AT_ONCE: Final = 500  # Of a person who is erased; the rest go after it, as many at a time.
ERASED_LOOKED_AT_MS: Final = 7 * 24 * 3600 * 1000  # How long after an erasure the identity cleaner looks for the rest.
CLEANED_AT_ONCE_MAX: Final = 64  # Of pictures and of challenges each, that the identity cleaner removes at once.
EXPIRE_AT_ONCE_MAX: Final = 256  # Payments that the expiry worker submits before it looks again.

MAIL_AT_ONCE_MAX: Final = 20  # That go over one line, so that a server which counts them has nothing to object to.
MAIL_TRIED_MS: Final = 3 * 24 * 3600 * 1000  # What could not be sent for so long is no news any more.
MAIL_SHOWN_MAX: Final = 50  # Of the demo's, which sends none.
ARRIVALS_KEPT_MAX: Final = 50  # Webhooks that the demo's own receiver got.

WEBHOOK_ENDPOINTS_MAX: Final = 16  # Of one account: a service each for some departments, not one a customer.
WEBHOOK_DESCRIPTION_CHARACTERS_MAX: Final = 200
WEBHOOK_FAILURES_MAX: Final = 5  # Different events in a row, until it is the endpoint and not the event.
WEBHOOK_SPREAD_MAX: Final = 200  # Per mille, by which a wait is longer or shorter.
WEBHOOK_OVERLAP_MS_MAX: Final = 72 * 3600 * 1000  # An old secret signs no longer: a long weekend.
WEBHOOK_OVERLAP_HOURS_DEFAULT: Final = 24  # A day to put the new one in its place.
# Where other processes may send, they look four times a second, and what is on its way then may still be signed: after
# this long nothing is sent under a secret, or to an endpoint, that is gone.
WEBHOOK_OTHERS_HEAR_S: Final = 0.6
WEBHOOK_TOLERANCE_S: Final = 300  # A signature older than that, or from so far ahead, is no longer believed.
WEBHOOK_TRIES_SHOWN_MAX: Final = 500  # Of one delivery, the latest: fifty resends with all their tries.
WEBHOOK_RESULTS_AT_ONCE: Final = 200  # Recorded by one command, so that no pay waits long behind it.
WEBHOOK_RESENT_MAX: Final = 200  # Events that one command makes wait: the same.
RESTORE_ROWS_AT_ONCE: Final = 5000  # That are read with one query, to be removed with the restore.
WEBHOOK_FORGOTTEN_AT_ONCE: Final = 200  # The same.
WEBHOOK_FAILED_RESENT_MAX: Final = 10_000  # By one form, so that its answer comes within seconds.
WEBHOOK_FAILING_TOLD_MS: Final = 3600 * 1000  # Its owner hears of an endpoint that rests for so long.
WEBHOOK_OWNERS_TOLD_AT_ONCE: Final = 100  # Endpoints, before the worker looks again.
WEBHOOK_RATE_MS: Final = 24 * 3600 * 1000  # Deliveries of so long make the success rate,
WEBHOOK_RATE_ROWS_MAX: Final = 10_000  # and of these at most so many, the latest.
# Requests to receivers of webhooks, whose machines may be slow, broken or hostile.
RECEIVER_CONNECT_S_MAX: Final = 5  # Together with TLS.
RECEIVER_ANSWER_S_MAX: Final = 15  # In all, from the name to the last byte: nobody waits longer for a shop's code.
RECEIVER_HEAD_BYTES_MAX: Final = 16_384
RECEIVER_HEADERS_MAX: Final = 64
RECEIVER_BODY_BYTES_MAX: Final = 65_536  # A framework's error page, with its traces. Whoever sends more is cut off.
RECEIVER_INTERIM_MAX: Final = 8  # Answers of 1xx before the real one.
RECEIVER_EXCERPT_CHARACTERS_MAX: Final = 1000  # Of the body, for people to read: what a stack trace begins with.
RECEIVER_LINE_KEPT_S: Final = 60  # A connection without use.
RECEIVER_LINES_KEPT_MAX: Final = 256  # Of those, in all.
RECEIVER_ADDRESSES_DIALLED_MAX: Final = 4  # Of one name; all are checked.
RETRY_AFTER_MS_MAX: Final = 24 * 3600 * 1000  # A longer wait that a receiver asks for is cut to this, our own longest.
LOOKUP_S_MAX: Final = 5  # Of a name, with the wait for a thread.
LOOKUP_KEPT_S: Final = 10  # What was found and checked, so that a busy receiver's name is not asked for each time.
LOOKUPS_KEPT_MAX: Final = 4096
LOOKUPS_AT_ONCE: Final = 8  # Threads that resolve names,
LOOKUPS_STUCK_MAX: Final = 56  # and so many more that a name server keeps hanging: it ends them when it likes.
LOOKUPS_WAITING_MAX: Final = 1024

PASSWORD_CHECKS_AT_ONCE: Final = 2  # Each takes 64 MiB and a core.
PASSWORD_CHECKS_WAITING_MAX: Final = 64

LEASE_MS: Final = 4000  # A role whose holder has died is played by another after this.
LEASE_RENEWAL_MS: Final = 1000  # Its holder has three tries before the lease runs out.

SEAL_ROWS_MAX: Final = 4000  # Of each table in one seal: some milliseconds of the database's time.
SEAL_LATE_MS: Final = 3_600_000  # How long a gap in the ids is looked at again: no transaction lasts that long.
AUDIT_ROWS_MAX: Final = 4000  # That the ledger auditor checks with one query; a search has a deadline.
TOTAL_MAX: Final = 4_000_000_000_000_000_000  # Of one figure since the first transfer: two of them fit 64 bits.
TOTALLED_AT_ONCE: Final = 4000  # Transfers that are counted with one commit,
TOTALLED_AT_ONCE_BUSY: Final = 500  # and while the process is busy: payments come first.
TOTALLED_ACCOUNTS_AT_ONCE: Final = 64  # Whose new transfers share that commit.
TOTALLED_SEALS_AT_ONCE: Final = 20  # That are looked at for accounts with new transfers.
TOTALLED_SEALS_MAX: Final = 1000  # Behind these it looks at all balances instead, which are fewer.
TOTAL_ROWS_AT_ONCE: Final = 500  # That are removed with one commit, to be made again.
TOTALS_BEHIND_MAX: Final = 100_000  # Transfers that a reader adds: a busy quarter hour, or a worker that catches up.
POSITION_LOOKED_BACK: Final = 1000  # Transfers before a moment among which a clock may have gone back.
AUDIT_SLICE_ROWS: Final = 1000  # Old rows of each kind that it checks again in each cycle.
AUDIT_ACTIONS_MAX: Final = 300  # Kinds of entries in the audit log: far more than there are.

REVOCATION_POLL_MS: Final = 300
REVOCATION_TRUST_MS: Final = 1000  # A process whose last poll is older looks each caller up again.
CALLERS_CACHED_MAX: Final = 100_000

# Rate limits. A bucket holds the whole quota, so that a burst is fine; it fills evenly over its window.
KEY_CALLS_PER_MINUTE: Final = 6000  # A busy shop asks 100 times a second; nobody alone takes a core of the service.
SESSION_CALLS_PER_MINUTE: Final = 6000  # An app that acts for one person: the same share.
ADDRESS_CALLS_PER_MINUTE: Final = 300  # Without a valid token: an office's visitors, not a search for ids or tokens.
PINGS_PER_MINUTE: Final = 10  # Of one account, to its webhook endpoints: by hand, and no tool against anybody else.
TILL_PAYMENTS_OF_ADDRESS: Final = 20  # A minute, at all tills: a shop's own Wi-Fi when it is busy, not a flood.
TILL_PAYMENTS_PER_MINUTE: Final = 120  # At one till, wherever they come from: no queue is faster.
SIGN_INS_PER_MINUTE: Final = 30  # From one address. Each takes a core for a while.
EMAIL_FAILURES_MAX: Final = 10  # At one e-mail address, wherever they come from: PCI DSS 8.3.4.
FAILURES_NOTED_PER_HOUR: Final = 20  # Entries of the audit log about one address and failed sign-ins.
EMAIL_FAILURES_S: Final = 600  # In this time; a forgetful person may try again after a minute.
MAILS_TO_ONE_PER_HOUR: Final = 4  # That strangers may have sent to one address: nobody's letter box is flooded.
MAILS_ASKED_PER_HOUR: Final = 20  # From one address: a family or a small office that joins on one day.
CODES_PER_TEN_MINUTES: Final = 20  # Tries from one address, and for one e-mail address. Each takes a core for a while.
PAGES_PER_MINUTE: Final = 600  # Of who is signed in: no hand is faster, and nobody else's calls count for it.
# Of a device on which a person has signed in before, and of a person who is signed in: strangers cannot use these up.
KNOWN_DEVICE_TRIES_MAX: Final = 10  # Wrong ones, in the same time as at an e-mail address.
KNOWN_DEVICE_S: Final = 180 * 24 * 3600  # A device that nobody has signed in on for half a year is a stranger again.
KNOWN_DEVICE_PEOPLE_MAX: Final = 4  # A family's tablet.
# Of each limit, about 4 MB. More clients than this with less than a full bucket each would need a larger machine.
RATE_BUCKETS_MAX: Final = 16_384
