"""Starter packages for a new game, player or prompt style, with passing tests."""

from cheaptalk.starters.starters import write_game, write_player, write_style

__all__ = ["write_game", "write_player", "write_style"]
