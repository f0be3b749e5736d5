"""What people read, in their language: texts, sums, days. Pages and mails ask here."""
