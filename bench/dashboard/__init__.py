"""What the pages of a shop with a million payments take, and what payments lose by them."""
