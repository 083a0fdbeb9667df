from .assignment import Balance, balance
from .dropout import Funnel, funnel
from .language import corpus_measures
from .matches import match_frames
from .people import participants, payments, plays, responses, survey_answers
from .reader import MeasureError
from .rounds import round_frames

__all__ = [
    "Balance",
    "Funnel",
    "MeasureError",
    "balance",
    "corpus_measures",
    "funnel",
    "match_frames",
    "participants",
    "payments",
    "plays",
    "responses",
    "round_frames",
    "survey_answers",
]
