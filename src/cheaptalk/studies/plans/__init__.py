"""The plan of a study: which players meet on which instances."""
