"""Providers' batch endpoints: many calls in one job, at half the price."""
