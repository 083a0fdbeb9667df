"""Weaknesses of a player: the tests of each, and which are named."""
