"""`make release`: what is handed out of one commit, the same bytes whenever and wherever it is made."""
