"""Tests of crashes and forfeits, in all matches and by condition."""

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import NamedTuple

import polars as pl
from scipy.stats import hypergeom

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses.exchangeability import more_often
from cheaptalk.profiles.weaknesses.messages import NOUNS
from cheaptalk.profiles.weaknesses.weakness import Trial, Weakness, games_of, share_estimate
from cheaptalk.rules import counted, game_title

LIMIT = 0.02
"""The largest share of failed or forfeited matches that is not a weakness."""
LEVEL = 0.05
KINDS = ("other", "way", "game")
"""Conditions of a match: the opponent, the presentation, and the game."""
SCHEMA = {"match_id": pl.String, **dict.fromkeys(KINDS, pl.String), "hit": pl.Int64,
          "requests": pl.Int64, "reason": pl.String}  # fmt: skip
REASON = 120
"""Maximum characters of an error message in a sentence."""


class FailedMatch(NamedTuple):
    """A match that failed because a call got no answer.

    Attributes:
        match: id of the match.
        reason: the reason of the failure, without the number of the request.
        own: whether the player's call failed instead of the opponent's.
        game, other, way: as in the columns of :func:`~cheaptalk.profiles.seats.seats`.
        answers: number of the player's answers before the failure.
    """

    match: str
    reason: str
    own: bool
    game: str
    other: str
    way: str | None
    answers: int


class Condition(NamedTuple):
    """Counts of matches, of early ends (``hits``) and of requests in one condition.

    ``p`` is the p-value of more early ends per request than in other conditions.
    """

    kind: str
    name: str
    hits: int
    matches: int
    requests: int
    p: float


class Ending(NamedTuple):
    """A way in which a match can end early, such as a crash.

    Attributes:
        does: the verb for the player, such as "crashes".
        done: the verb for the matches, such as "failed".
    """

    key: str
    title: str
    does: str
    done: str


CRASH = Ending("crashes", "ends matches with errors", "crashes", "failed")
FORFEIT = Ending("forfeits", "forfeits matches", "forfeits matches", "were forfeited")


def ending_trials(
    rows: pl.DataFrame, failed: Sequence[FailedMatch], battery: Battery
) -> Iterator[Trial]:
    """Yield tests of how often the player's calls fail and how often it forfeits matches.

    Half of the level is for a share of early ends above :data:`LIMIT`. The other half is for a
    condition with more early ends per request than all others: Fisher's exact test over requests,
    with Bonferroni's correction over conditions. Requests are counted because matches with more
    requests end early more often.

    Args:
        rows: the player's rows of :func:`~cheaptalk.profiles.seats.seats`.
    """
    matches = rows.unique("match_id", maintain_order=True).select(
        "match_id", *KINDS, hit=pl.col("forfeited").cast(pl.Int64),
        requests=pl.max_horizontal("answers", 1).cast(pl.Int64), reason=pl.lit(None, pl.String),
    )  # fmt: skip
    crashes = pl.DataFrame(
        [(match.match, match.other, match.way, match.game, 1, match.answers + 1, match.reason)
         for match in failed if match.own], schema=SCHEMA, orient="row",
    )  # fmt: skip
    yield _ending_trial(
        CRASH, pl.concat([matches.with_columns(hit=pl.lit(0, pl.Int64)), crashes]), battery
    )
    yield _ending_trial(FORFEIT, matches, battery)


def _ending_trial(ending: Ending, matches: pl.DataFrame, battery: Battery) -> Trial:
    """Return the test of whether a player's matches end early too often."""
    total = matches.height
    hits, requests = int(matches["hit"].sum()), int(matches["requests"].sum())
    conditions = [*_conditions(matches)]
    worst = min(conditions, key=lambda condition: (condition.p, condition.matches), default=None)
    p_worst = min(1.0, 2 * len(conditions) * worst.p) if worst is not None else 1.0
    p = min(1.0, 2 * more_often(hits, total, LIMIT), p_worst)
    title, variant, effect = ending.title, "", share_estimate(hits, total)
    sentence = f"{hits} of {total} matches {ending.done} ({counted(requests, 'request')})"
    named = worst is not None and p_worst <= LEVEL
    if worst is not None and named:
        title, variant = f"{ending.does} {_condition_text(worst, battery)}", worst.name
        effect = share_estimate(worst.hits, worst.matches)
        requests_elsewhere = requests - worst.requests
        sentence = (
            f"{worst.hits} of {worst.matches} matches {ending.done} "
            f"({counted(worst.requests, 'request')}), and {hits - worst.hits} of the "
            f"{total - worst.matches} others ({counted(requests_elsewhere, 'request')})"
        )
    hit = matches.filter(pl.col("hit") > 0)
    if hits:
        sentence += f", {games_of(hit)}" + ("" if named else "; no condition stands out")
    if reasons := hit["reason"].drop_nulls().mode().sort().to_list():
        sentence += f"; most often: {shorten(reasons[0], REASON, placeholder=' ...')}"
    outcome = Weakness(
        ending.key, title, total, "matches", sentence, effect, variant=variant,
        match=next(iter(hit.filter(pl.col("reason").is_null())["match_id"]), None),
    )  # fmt: skip
    return Trial(outcome, lambda _: p)


def _conditions(matches: pl.DataFrame) -> Iterator[Condition]:
    """Yield each condition of the matches with the p-value of Fisher's exact test."""
    hits, requests = int(matches["hit"].sum()), int(matches["requests"].sum())
    for kind in KINDS:
        groups = matches.drop_nulls(kind).group_by(kind, maintain_order=True)
        sums = groups.agg(pl.len(), pl.col("hit").sum(), pl.col("requests").sum())
        for name, count, own, row in sums.iter_rows():
            if name and count < matches.height:
                p = float(hypergeom.sf(own - 1, requests, hits, row))
                yield Condition(kind, name, own, count, row, p)


def _condition_text(condition: Condition, battery: Battery) -> str:
    if condition.kind == "game":
        return f"in {game_title(condition.name)}"
    if condition.kind == "way":
        return f"in another presentation ({condition.name})"
    if condition.name in battery.talkers:
        return f"on {NOUNS.get(condition.name, condition.name.replace('_', ' '))}"
    return f"against the baseline {condition.name}"
