"""The report of a study: results by game, pairings and an overview."""
