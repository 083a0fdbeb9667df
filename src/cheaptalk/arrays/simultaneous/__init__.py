"""Array programs of games with simultaneous decisions in each round."""
