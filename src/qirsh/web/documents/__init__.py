"""What people take away: receipts and statements on paper, statements for spreadsheets, and QR codes."""
