"""What all pages share: rendering, sessions, forms, cookies, language."""
