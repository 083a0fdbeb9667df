"""Crashes: whether calls of a player fail, and in which condition most of them do."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl
from scipy.stats import hypergeom

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses.exchangeability import more_often
from cheaptalk.profiles.weaknesses.messages import NOUNS
from cheaptalk.profiles.weaknesses.weakness import Trial, Weakness, games_of, share_estimate
from cheaptalk.rules import game_title

LIMIT = 0.02
"""The largest share of failed matches that is not a weakness; also that of forfeited ones."""
LEVEL = 0.05
TITLE = "fails matches with errors"
KINDS = ("other", "way", "game")
"""Conditions of a match: the other player, the presentation, and the game."""


class FailedMatch(NamedTuple):
    """A match that ended because a call brought no answer.

    Attributes:
        match: its id.
        reason: why the call failed, without the number of the request.
        own: whether a call of the player failed, not one of the other.
        game, other, way: as in the columns of :func:`~cheaptalk.profiles.seats.seats`.
    """

    match: str
    reason: str
    own: bool
    game: str
    other: str
    way: str | None


class Condition(NamedTuple):
    """The matches of a condition, how many of them failed, and the p-value against all others."""

    kind: str
    name: str
    failed: int
    matches: int
    p: float


def crash_trial(own: pl.DataFrame, failed: Sequence[FailedMatch], battery: Battery) -> Trial:
    """Return the test of whether the player's calls fail.

    Half of the level is for a share of failed matches above :data:`LIMIT`, half for a condition
    with more failed matches than the others (Fisher's exact test, Bonferroni over conditions).

    Args:
        own: the player's rows of :func:`~cheaptalk.profiles.seats.seats`.
    """
    matches = _matches(own, [one for one in failed if one.own])
    hits, of = int(matches["failed"].sum()), matches.height
    conditions = [*_conditions(matches)]
    worst = min(conditions, key=lambda one: (one.p, one.matches), default=None)
    p_worst = min(1.0, 2 * len(conditions) * worst.p) if worst is not None else 1.0
    p = min(1.0, 2 * more_often(hits, of, LIMIT), p_worst)
    title, variant, sentence = TITLE, "", f"{hits} of {of} matches failed"
    effect = share_estimate(hits, of)
    if worst is not None and p_worst <= LEVEL:
        title, variant = _title(worst, battery), worst.name
        effect = share_estimate(worst.failed, worst.matches)
        sentence = (
            f"{worst.failed} of {worst.matches} matches failed, and {hits - worst.failed} of the "
            f"{of - worst.matches} others"
        )
    if hits:
        reason = matches["reason"].drop_nulls().mode().sort()[0]
        sentence += f", {games_of(matches.filter(pl.col('failed') > 0))}; most often: {reason}"
    outcome = Weakness("crashes", title, of, "matches", sentence, effect, variant=variant)
    return Trial(outcome, lambda _: p)


def _matches(own: pl.DataFrame, failed: Sequence[FailedMatch]) -> pl.DataFrame:
    """All matches that ended or failed, one row each, with 1 in ``failed`` if they failed."""
    ended = own.unique("match", maintain_order=True).select(
        "match", *KINDS, failed=pl.lit(0), reason=pl.lit(None, pl.String)
    )
    rows = [(one.match, one.other, one.way, one.game, 1, one.reason) for one in failed]
    return pl.concat([ended, pl.DataFrame(rows, schema=ended.schema, orient="row")])


def _conditions(matches: pl.DataFrame) -> Iterator[Condition]:
    """Each condition that part of the matches have, with the p-value of Fisher's exact test."""
    hits, of = int(matches["failed"].sum()), matches.height
    for kind in KINDS:
        groups = matches.drop_nulls(kind).group_by(kind, maintain_order=True)
        for name, count, fired in groups.agg(pl.len(), pl.col("failed").sum()).iter_rows():
            if name and count < of:
                p = float(hypergeom.sf(fired - 1, of, hits, count))
                yield Condition(kind, name, fired, count, p)


def _title(one: Condition, battery: Battery) -> str:
    if one.kind == "game":
        return f"crashes in {game_title(one.name)}"
    if one.kind == "way":
        return f"crashes in another presentation ({one.name})"
    if one.name in battery.talkers:
        return f"crashes on {NOUNS.get(one.name, one.name.replace('_', ' '))}"
    return f"crashes against {one.name}"
