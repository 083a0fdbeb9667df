"""Pages of empirical games: equilibria and their uncertainty."""
