"""Solvers for payoff matrices, independent of matches and stores."""
