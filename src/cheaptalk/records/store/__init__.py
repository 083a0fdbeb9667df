"""The store: writes, reads and queries studies, players and matches."""
