"""Games as array programs, many matches at once; checked move for move against the rules."""
