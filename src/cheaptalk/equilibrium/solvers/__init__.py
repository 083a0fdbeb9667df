"""Solve payoff matrices, independently of matches and stores."""
