"""Starter packages: a game, a player or a style of your own, with passing tests."""

from cheaptalk.starters.starters import write_game, write_player, write_style

__all__ = ["write_game", "write_player", "write_style"]
