"""Clients for models over HTTP: one module per protocol, with a common transport."""
