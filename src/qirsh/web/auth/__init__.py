"""Proving who somebody is: passwords, one-time codes, passkeys, mailed challenges."""
