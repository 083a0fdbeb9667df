from . import language as language
from .algorithms import ALGORITHMS, Diverged, Progress, Settings, Training
from .evaluation import BestResponse, Exploitability, Gain, exploitability
from .logs import read_log
from .nfsp import NFSP, Learned, NFSPSettings
from .policy import (
    NETWORKS,
    Policy,
    PolicyError,
    PolicyNetwork,
    policy_file,
    policy_names,
    read_policy,
    write_policy,
)
from .presets import TRAININGS, Preset, get_preset
from .rnad import RNaD, RNaDSettings
from .rounding import Rounding
from .sweeps import Trained, sweep
from .tabular import Solution, TooLarge, Tree, solve
from .training import Pace, game_of, settings_of, train

__all__ = [
    "ALGORITHMS", "NETWORKS", "NFSP", "TRAININGS", "BestResponse", "Diverged", "Exploitability",
    "Gain", "Learned", "NFSPSettings", "Pace", "Policy", "PolicyError", "PolicyNetwork", "Preset",
    "Progress", "RNaD", "RNaDSettings", "Rounding", "Settings", "Solution", "TooLarge", "Trained",
    "Training", "Tree", "exploitability", "game_of", "get_preset", "policy_file", "policy_names",
    "read_log", "read_policy", "settings_of", "solve", "sweep", "train", "write_policy",
]  # fmt: skip
