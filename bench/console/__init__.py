"""What the operator console takes when there are many people, shops and entries, and what payments lose by it."""
