"""Commands that list games, strategies, models, presets and recipes, or check a game or store."""
