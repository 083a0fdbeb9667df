"""Clients for providers' batch endpoints, which charge about half the price."""
