"""Language models as players: their settings, conversations and responses."""
