"""What only the demo shows: the mails that it does not send, and the webhooks that its own receiver got."""
