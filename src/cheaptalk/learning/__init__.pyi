from .tabular import Solution, TooLarge, Tree, solve

__all__ = ["Solution", "TooLarge", "Tree", "solve"]
