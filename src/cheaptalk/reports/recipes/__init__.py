"""Report recipes, which compute the tables and figures of papers from any study."""
