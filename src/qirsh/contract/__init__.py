"""What the outside sees, made from domain records: the same bytes by API and by webhook."""
