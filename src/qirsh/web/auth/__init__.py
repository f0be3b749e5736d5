"""Proving who a person is: passwords, one-time codes, passkeys, mailed challenges."""
