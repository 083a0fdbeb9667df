from .games import ARRAYS, ArrayGame, NotArrayed, array_game

__all__ = ["ARRAYS", "ArrayGame", "NotArrayed", "array_game"]
