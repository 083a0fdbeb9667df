"""Metrics of a profile: their definitions, and what they are computed from."""
