"""Everything a database holds, as one file that is read without Qirsh, and back into a database of either engine."""
