"""Games in which all players decide at once, round after round, as array programs."""
