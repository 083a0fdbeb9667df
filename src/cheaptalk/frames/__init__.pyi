from .assignment import Balance, balance
from .language import corpus_metrics
from .matches import read_matches
from .people import (
    Funnel,
    funnel,
    read_participants,
    read_payments,
    read_plays,
    read_responses,
    read_survey_answers,
)
from .reader import MetricError
from .rounds import read_rounds
from .seats import read_seats
from .wide import read_codebook, read_wide

__all__ = [
    "Balance",
    "Funnel",
    "MetricError",
    "balance",
    "corpus_metrics",
    "funnel",
    "read_codebook",
    "read_matches",
    "read_participants",
    "read_payments",
    "read_plays",
    "read_responses",
    "read_rounds",
    "read_seats",
    "read_survey_answers",
    "read_wide",
]
