"""Empirical games: payoffs estimated from matches, and how sure their equilibria are."""
