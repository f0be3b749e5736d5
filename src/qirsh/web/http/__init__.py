"""Requests, responses and routes, who calls and how often: what every handler stands on."""
