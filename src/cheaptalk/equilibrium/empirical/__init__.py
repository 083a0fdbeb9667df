"""Empirical games: payoffs estimated from matches, and their uncertainty."""
