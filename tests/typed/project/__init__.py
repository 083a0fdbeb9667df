"""A small project of a user of the library."""
