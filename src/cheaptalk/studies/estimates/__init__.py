"""Estimates of a study's calls, tokens, cost and duration before it runs."""
