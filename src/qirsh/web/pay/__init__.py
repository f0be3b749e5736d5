"""The pay page: from a merchant's link to the receipt."""
