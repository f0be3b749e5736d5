"""PDF, CSV, QR codes and pictures."""
