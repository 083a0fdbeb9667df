"""Clients for providers' batch endpoints, which cost about half the price."""
