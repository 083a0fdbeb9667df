"""Analysis of empirical games: equilibria, metrics and ratings, with their uncertainty."""
