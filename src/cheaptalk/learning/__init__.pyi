from .best_response import BestResponse, Gain, respond
from .nfsp import NFSP, Diverged, Learned, NFSPSettings, Progress
from .tabular import Solution, TooLarge, Tree, solve
from .training import Pace, game_of, settings_of, train

__all__ = [
    "NFSP", "BestResponse", "Diverged", "Gain", "Learned", "NFSPSettings", "Pace", "Progress",
    "Solution", "TooLarge", "Tree", "game_of", "respond", "settings_of", "solve", "train",
]  # fmt: skip
