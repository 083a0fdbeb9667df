from .assignment import Balance, balance
from .language import corpus_metrics
from .matches import match_frames
from .people import Funnel, funnel, participants, payments, plays, responses, survey_answers
from .reader import MetricError
from .rounds import round_frames

__all__ = [
    "Balance",
    "Funnel",
    "MetricError",
    "balance",
    "corpus_metrics",
    "funnel",
    "match_frames",
    "participants",
    "payments",
    "plays",
    "responses",
    "round_frames",
    "survey_answers",
]
