"""Qirsh: a payment service that one organisation can run by itself."""

__version__ = "0.1.0"
