from .best_response import BestResponse, Gain, respond
from .nfsp import NFSP, Diverged, Learned, NFSPSettings, Progress
from .policy import Policy, PolicyError, read_policy, write_policy
from .tabular import Solution, TooLarge, Tree, solve
from .training import Pace, game_of, settings_of, train

__all__ = [
    "NFSP", "BestResponse", "Diverged", "Gain", "Learned", "NFSPSettings", "Pace", "Policy",
    "PolicyError", "Progress", "Solution", "TooLarge", "Tree", "game_of", "read_policy", "respond",
    "settings_of", "solve", "train", "write_policy",
]  # fmt: skip
