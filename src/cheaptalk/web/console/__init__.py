"""Web console in which researchers log in and manage a laboratory's studies."""
