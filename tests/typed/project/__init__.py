"""A small project that uses the library."""
