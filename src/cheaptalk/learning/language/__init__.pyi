from .behaviour_cloning import STORE, Iteration, SelfPlay, SelfPlayFailed, self_play
from .filters import FILTERS
from .pretraining import TRAINING, Shape, pretrain
from .tokens import TemplateError, TokenizedChat, tokenized
from .trainers.local import LocalTraining, fine_tune
from .trainers.openai import OpenAITraining
from .trainers.trainer import Step, TrainingFailed

__all__ = [
    "FILTERS", "STORE", "TRAINING", "Iteration", "LocalTraining", "OpenAITraining", "SelfPlay",
    "SelfPlayFailed", "Shape", "Step", "TemplateError", "TokenizedChat", "TrainingFailed",
    "fine_tune", "pretrain", "self_play", "tokenized",
]  # fmt: skip
