"""For the merchant's server and the customer's app: JSON."""
