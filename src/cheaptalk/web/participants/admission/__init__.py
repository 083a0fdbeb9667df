"""Admission of participants: entry pages, recruitment platforms, quotas and places."""
