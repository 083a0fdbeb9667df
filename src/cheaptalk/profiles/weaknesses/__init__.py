"""Tests of a player's weaknesses."""
