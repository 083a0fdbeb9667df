from .agreement import CHECK, Agreement, Share, agreements
from .choosing import first_item, matches_for
from .coding import code_answers
from .corpora import corpus_measures
from .foretelling import JudgingEstimate, estimate_judging
from .items import Item, items_of
from .judges import Judge, Verdict, judge_of
from .judging import Judging, judge
from .labelling import Labels, take_labels, write_sheet
from .resampling import Interval
from .rubrics import Rubric, Scale, find_rubric, load_rubric, rubric_names
from .verdicts import verdict_frame

__all__ = [
    "CHECK",
    "Agreement",
    "Interval",
    "Item",
    "Judge",
    "Judging",
    "JudgingEstimate",
    "Labels",
    "Rubric",
    "Scale",
    "Share",
    "Verdict",
    "agreements",
    "code_answers",
    "corpus_measures",
    "estimate_judging",
    "find_rubric",
    "first_item",
    "items_of",
    "judge",
    "judge_of",
    "load_rubric",
    "matches_for",
    "rubric_names",
    "take_labels",
    "verdict_frame",
    "write_sheet",
]
