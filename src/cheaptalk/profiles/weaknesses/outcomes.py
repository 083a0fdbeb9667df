"""Tests of outcomes: low earnings in a game, crashes and forfeits."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import hypergeom

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses.exchangeability import DRAWS, more_often
from cheaptalk.profiles.weaknesses.messages import NOUNS
from cheaptalk.profiles.weaknesses.weakness import (
    DECIMALS,
    Trial,
    Weakness,
    between,
    estimate_of,
    games_of,
    mean_of,
    negative,
    share_estimate,
)
from cheaptalk.rules import counted, game_title
from cheaptalk.text import fixed

LIMIT = 0.02
"""The largest share of failed or forfeited matches that is not a weakness."""
LEVEL = 0.05
KINDS = ("other", "way", "game")
"""Conditions of a match: the opponent, the presentation, and the game."""
REASON = 120
"""Maximum characters of an error message in a sentence."""


class FailedMatch(NamedTuple):
    """A match that failed because a call of the player (``own``) or opponent got no answer.

    ``reason`` does not name the request; ``answers`` counts the player's answers before the
    failure.
    """

    match: str
    reason: str
    own: bool
    game: str
    other: str
    way: str | None
    answers: int


class Condition(NamedTuple):
    """Numbers of matches, early ends and requests under a condition, with a p-value."""

    kind: str
    name: str
    hits: int
    matches: int
    requests: int
    p: float


class Ending(NamedTuple):
    """A way in which a match can end early, with the verbs for the player and for the matches."""

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
    """
    matches = rows.unique("match_id", maintain_order=True).select(
        *("match_id", *KINDS),
        hit=pl.col("forfeited").cast(pl.Int64),
        requests=pl.max_horizontal("answers", 1).cast(pl.Int64),
        reason=pl.lit(None, pl.String),
    )
    crashes = [
        (match.match, match.other, match.way, match.game, 1, match.answers + 1, match.reason)
        for match in failed
        if match.own
    ]
    crashed = pl.DataFrame(crashes, schema=matches.schema, orient="row")
    ended = matches.with_columns(hit=pl.lit(0, pl.Int64))
    yield _ending_trial(CRASH, pl.concat([ended, crashed]), battery)
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
    outcome = Weakness(ending.key, title, total, "matches", sentence, effect, variant=variant)
    match = next(iter(hit.filter(pl.col("reason").is_null())["match_id"]), None)
    return Trial(outcome._replace(match=match), lambda _: p)


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


def earnings_trials(seats: pl.DataFrame, rows: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield a test for each game of whether the player earns less than every baseline."""
    games = dict.fromkeys(part.game for part in battery.parts.values())
    names = [name for name in battery.panel if name != rows["player"].first()]
    played = seats.filter("finished", pl.col("part").is_in(list(battery.parts)))
    played = played.filter(pl.col("earned").is_not_null())
    for game in games:
        rows_of_player = played.filter(game=game, player=rows["player"].first() or "")
        gaps: dict[str, list[float]] = {}
        for name in names:
            baseline = played.filter(game=game, player=name).select(*MEETING, base="earned")
            baseline = baseline.unique(MEETING, keep="first", maintain_order=True)
            pairs = rows_of_player.join(baseline, MEETING, validate="m:1", maintain_order="left")
            if pairs.height == rows_of_player.height and pairs.height:
                cells = pairs.group_by("configuration", "seat", "instance", maintain_order=True)
                gap = cells.agg((pl.col("earned") - pl.col("base")).mean())
                gaps[name] = gap["earned"].to_list()
        yield _earnings_trial(rows_of_player, gaps, game)


MEETING = ("configuration", "instance", "seat", "other")


def _earnings_trial(rows: pl.DataFrame, gaps: Mapping[str, list[float]], game: str) -> Trial:
    nearest = max(gaps, key=lambda name: float(np.mean(gaps[name])), default="")
    less = estimate_of([-gap for gap in gaps.get(nearest, [])])
    sentence = f"it earned {fixed(mean_of(rows['earned']), DECIMALS)} in {game_title(game)}"
    if rows.is_empty():
        sentence = f"no match in {game_title(game)} ended"
    elif nearest:
        gap, word = (less, "less") if (less.value or 0.0) >= 0 else (negative(less), "more")
        sentence += f", {between(gap)} {word} than {nearest}, the lowest baseline"
    worst = rows.sort("earned", maintain_order=True).head(1)
    title, tested = f"earns less than every baseline in {game_title(game)}", len(rows) * bool(gaps)
    match = worst["match_id"][0] if worst.height else None
    outcome = Weakness(f"earned.{game}", title, tested, "matches", sentence, less, match=match)
    return Trial(outcome, lambda _: max(map(_p_below, gaps.values())))


def _p_below(gaps: list[float]) -> float:
    """Return the p-value of a one-sided sign-flip test of whether a mean is negative."""
    values = np.array(gaps)
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(DRAWS, len(values)))
    return float((1 + np.sum(signs @ values <= values.sum() + 1e-9)) / (DRAWS + 1))
