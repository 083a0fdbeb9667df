from .iterations import STORE, Iteration, SelfPlay, SelfPlayFailed, check_settings, self_play
from .pretraining import TRAINING, Shape, pretrain
from .tokens import TemplateError, TokenizedChat, tokenize_chat
from .trainers.local import LocalTraining, fine_tune
from .trainers.openai import OpenAITraining
from .trainers.trainer import Step, TrainingExample, TrainingFailed
from .training_data import ScoredChat

__all__ = [
    "STORE", "TRAINING", "Iteration", "LocalTraining", "OpenAITraining", "ScoredChat", "SelfPlay",
    "SelfPlayFailed", "Shape", "Step", "TemplateError", "TokenizedChat", "TrainingExample",
    "TrainingFailed", "check_settings", "fine_tune", "pretrain", "self_play", "tokenize_chat",
]  # fmt: skip
