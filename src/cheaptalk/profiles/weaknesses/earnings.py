"""Tests of earnings: whether a player earns less in a game than every baseline."""

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.weakness import (
    DECIMALS,
    Trial,
    Weakness,
    between,
    estimate_of,
    mean_of,
    negative,
)
from cheaptalk.rules import game_title
from cheaptalk.text import fixed


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
    outcome = Weakness(
        f"earned.{game}", f"earns less than every baseline in {game_title(game)}",
        rows.height if gaps else 0, "matches", sentence, less,
        match=worst["match_id"][0] if worst.height else None,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        return max(_p_below(gap) for gap in gaps.values())

    return Trial(outcome, p)


def _p_below(gaps: list[float]) -> float:
    """Return the p-value of a one-sided sign-flip test of whether a mean is negative."""
    values = np.array(gaps)
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(tests.DRAWS, len(values)))
    return float((1 + np.sum(signs @ values <= values.sum() + 1e-9)) / (tests.DRAWS + 1))
