from .games import ARRAYS, ArrayGame, NoArrayGame, array_game

__all__ = ["ARRAYS", "ArrayGame", "NoArrayGame", "array_game"]
