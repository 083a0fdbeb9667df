"""The plan of a study: who meets whom, on which deals."""
