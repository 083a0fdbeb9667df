"""What a report says of matches in which a player finally gave no valid answer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.records import Status
from cheaptalk.records.policies import Policy, policies_of
from cheaptalk.records.redeals import AFRESH


class Unanswering(NamedTuple):
    """A kind of answer that is none: the study's policy for it, and matches with such answers."""

    kind: str
    policy: Policy
    matches: int


class Exclusions(NamedTuple):
    """What became of matches without an answer.

    Attributes:
        kinds: the kinds of answers that occurred, or that the study says something about.
        dropped: finished matches that are no part of any score.
        redealt: matches that were played on a fresh deal in place of another.
        redeals: how often one match is played on a fresh deal at most.
    """

    kinds: list[Unanswering]
    dropped: int
    redealt: int
    redeals: int


def exclusions(spec: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> Exclusions:
    """What became of a study's matches without an answer, over all its games."""
    policies = policies_of(spec)
    finished = pl.col("status") == Status.FINISHED.value
    kinds = [
        Unanswering(kind, policy, sum(_with(frame, kind) for frame in frames.values()))
        for kind, policy in policies.by_kind.items()
    ]
    return Exclusions(
        [one for one in kinds if one.matches or one.kind in policies.model_fields_set],
        sum(frame.filter(finished & pl.col("dropped")).height for frame in frames.values()),
        sum(frame.filter(pl.col("deal").str.contains(AFRESH)).height for frame in frames.values()),
        policies.redeals,
    )  # fmt: skip


def _with(frame: pl.DataFrame, kind: str) -> int:
    """Matches in which some answer was of this kind."""
    columns = [name for name in frame.columns
               if name.startswith("kind.") and name.endswith(f".{kind}")]  # fmt: skip
    return frame.filter(pl.any_horizontal(pl.col(columns) > 0)).height
