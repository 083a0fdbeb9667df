from .iterations import STORE, Iteration, SelfPlay, SelfPlayFailed, self_play, settle
from .pretraining import TRAINING, Shape, pretrain
from .tokens import TemplateError, TokenizedChat, tokenized
from .trainers.local import LocalTraining, fine_tune
from .trainers.openai import OpenAITraining
from .trainers.trainer import Step, TrainingExample, TrainingFailed
from .training_data import FILTERS, ScoredChat

__all__ = [
    "FILTERS",
    "STORE",
    "TRAINING",
    "Iteration",
    "LocalTraining",
    "OpenAITraining",
    "ScoredChat",
    "SelfPlay",
    "SelfPlayFailed",
    "Shape",
    "Step",
    "TemplateError",
    "TokenizedChat",
    "TrainingExample",
    "TrainingFailed",
    "fine_tune",
    "pretrain",
    "self_play",
    "settle",
    "tokenized",
]  # fmt: skip
