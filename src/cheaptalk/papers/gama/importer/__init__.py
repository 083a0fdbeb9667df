"""Recorded games of GAMA-Bench, played again by our rules."""
