"""Import of recorded GAMA-Bench games, replayed with cheaptalk's rules."""
