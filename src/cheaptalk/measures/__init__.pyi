from .agreement import CHECK, Agreement, Share, agreements
from .items import Item, items_of
from .judges import Judge, Verdict, judge_of
from .judging import Judging, first_item, judge, matches_for
from .rubrics import Rubric, Scale, find_rubric, load_rubric, rubric_names
from .verdicts import verdict_frame

__all__ = [
    "CHECK",
    "Agreement",
    "Item",
    "Judge",
    "Judging",
    "Rubric",
    "Scale",
    "Share",
    "Verdict",
    "agreements",
    "find_rubric",
    "first_item",
    "items_of",
    "judge",
    "judge_of",
    "load_rubric",
    "matches_for",
    "rubric_names",
    "verdict_frame",
]
