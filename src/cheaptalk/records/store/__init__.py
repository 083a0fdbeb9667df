"""The store: how studies, players and matches are kept, written, read and looked through."""
