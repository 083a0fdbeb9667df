"""What is said of an empirical game: equilibria, readings, rankings, each with its uncertainty."""
