"""Equilibria of payoff matrices; knows no match and no store."""
