"""Pages of a study's participants: recruitment, monitoring, live control and payments."""
