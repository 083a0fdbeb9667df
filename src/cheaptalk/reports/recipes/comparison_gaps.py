"""Matches that a comparison of two studies can't cover because they have no result."""

from typing import NamedTuple

import polars as pl

from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.unscored import REASON, unscored, unscored_text
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.study_differences import MATCH
from cheaptalk.rules import counted
from cheaptalk.studies.plans.plan import planned_count

CELL = ("configuration", "pairing")


class Gaps(NamedTuple):
    """Matches of two studies that can't be compared because they have no result.

    Attributes:
        text: the number of such matches in each study, as sentences after a space; may be empty.
        differ: whether matches that lack a result in one study have a result in the other.
    """

    text: str
    differ: bool


def gaps(
    studies: tuple[Evidence, Evidence], frames: tuple[pl.DataFrame, pl.DataFrame], paired: bool
) -> Gaps:
    """Count the matches of two studies without a score.

    Args:
        frames: matches of one game, of any status; only shared configurations and pairings count.
        paired: whether all matches are compared in pairs, instance by instance.
    """
    first, second = (
        side.join(other, on=CELL, how="semi", maintain_order="left")
        for side, other in (frames, frames[::-1])
    )
    sentences, absent, rates = [], [], []
    for study, side in zip(studies, (first, second), strict=True):
        waiting = _not_begun(study)
        if counts := unscored(side):
            sentences.append(f" In “{study.study}”, {unscored_text(counts, side.height)}.")
        if waiting:
            verb = "has" if waiting == 1 else "have"
            planned = counted(waiting, "planned match")
            sentences.append(f" {planned} of “{study.study}” {verb} not started.")
        ends = side.filter(~SCORED)
        absent.append((set(ends.select(*MATCH, REASON).iter_rows()), waiting))
        rates.append(ends.height / side.height if side.height else 0.0)
    if sentences:
        sentences.append(
            " Only pairs of finished matches are compared." if paired
            else " Only finished matches are compared." if rates[0] == rates[1]
            else " Only finished matches are compared. The studies lack different shares of their "
            "matches, so differences may reflect which matches finished."
        )  # fmt: skip
    return Gaps("".join(sentences), absent[0] != absent[1])


def _not_begun(study: Evidence) -> int:
    """Return the number of planned matches of a study, over all games, that have not started."""
    summary = study.store.study(study.study)
    begun = sum(summary.counts.values())
    return max(0, (planned_count(summary, study.store) or begun) - begun)
