"""Array versions of games with simultaneous decisions in each round."""
