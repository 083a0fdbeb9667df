from .agreement import CHECK, Agreement, Interval, Reliability, Share, agreements, reliabilities
from .estimate import JudgingEstimate, estimate_judging
from .items import Item, items_of
from .judge_runs import Judging, code_answers, judge, judge_async
from .judges import Judge, Verdict, first_item, judge_of, matches_for
from .labels import Labels, import_labels, write_sheet
from .rubrics import RUBRICS, Rubric, Scale, find_rubric, load_rubric, rubric_names
from .verdicts import answer_verdicts, verdict_frame

__all__ = [
    "CHECK",
    "RUBRICS",
    "Agreement",
    "Interval",
    "Item",
    "Judge",
    "Judging",
    "JudgingEstimate",
    "Labels",
    "Reliability",
    "Rubric",
    "Scale",
    "Share",
    "Verdict",
    "agreements",
    "answer_verdicts",
    "code_answers",
    "estimate_judging",
    "find_rubric",
    "first_item",
    "import_labels",
    "items_of",
    "judge",
    "judge_async",
    "judge_of",
    "load_rubric",
    "matches_for",
    "reliabilities",
    "rubric_names",
    "verdict_frame",
    "write_sheet",
]
