"""Commands that say what there is: games, players, rosters, prompts, presets, prices, recipes."""
