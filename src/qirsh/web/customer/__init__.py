"""For people who pay: pages in HTML."""
