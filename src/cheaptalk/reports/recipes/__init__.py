"""Report recipes: the tables and figures of papers, from any study."""
