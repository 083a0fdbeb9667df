"""The page of an empirical game: who would play what, and how sure that is."""
