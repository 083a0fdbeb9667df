"""Packages to begin with: a game, a player or a style of one's own, whose tests pass at once."""

from cheaptalk.starters.starters import write_game, write_player, write_style

__all__ = ["write_game", "write_player", "write_style"]
