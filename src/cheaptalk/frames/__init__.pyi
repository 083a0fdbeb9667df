from .assignment import Balance, balance
from .language import corpus_metrics
from .matches import read_matches
from .people import Funnel, funnel, participants, payments, plays, responses, survey_answers
from .reader import MetricError
from .rounds import read_rounds

__all__ = [
    "Balance",
    "Funnel",
    "MetricError",
    "balance",
    "corpus_metrics",
    "funnel",
    "participants",
    "payments",
    "plays",
    "read_matches",
    "read_rounds",
    "responses",
    "survey_answers",
]
