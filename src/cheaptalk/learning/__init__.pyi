from .nfsp import NFSP, Diverged, Learned, NFSPSettings, Progress
from .tabular import Solution, TooLarge, Tree, solve

__all__ = [
    "NFSP", "Diverged", "Learned", "NFSPSettings", "Progress", "Solution", "TooLarge", "Tree",
    "solve",
]  # fmt: skip
