"""Participants: their data, identities, payments and erasure."""
