"""Metrics of public goods with punishment, which compare rounds without and with punishment."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from cheaptalk.games.public_goods.metrics import (
    contribution,
    contribution_by_round,
    last_round_contribution,
)
from cheaptalk.games.public_goods_punishment.rules import MAX_POINTS, PublicGoodsPunishment
from cheaptalk.games.rounds import by_player, gain_by_round
from cheaptalk.rules import SHARE, Game, Metric, Point, Result, Series


def _share(result: Result, rows: Sequence[Sequence[int]]) -> float | None:
    return fmean(map(fmean, rows)) / float(result.game.tokens) if rows else None


def contribution_without_punishment(result: Result) -> float | None:
    """The mean share of the tokens contributed in rounds without punishment."""
    return _share(result, result.outcome.choices[: result.game.rounds])


def contribution_with_punishment(result: Result) -> float | None:
    """The mean share of the tokens contributed in rounds with punishment."""
    return _share(result, result.outcome.choices[result.game.rounds :])


def punishment_points(result: Result) -> float:
    """The mean number of points that a player assigns in a round with punishment."""
    rows = result.outcome.points[result.game.rounds :]
    return fmean(fmean(map(sum, row)) for row in rows)


def antisocial_punishment(result: Result) -> float | None:
    """The share of points for members who contributed at least as much as the punisher.

    None if no points are assigned (Herrmann, Thöni and Gächter 2008).
    """
    outcome = result.outcome
    total = antisocial = 0
    for given, others, points in zip(outcome.choices, outcome.others, outcome.points, strict=True):
        for own, members, assigned in zip(given, others, points, strict=True):
            total += sum(assigned)
            pairs = zip(members, assigned, strict=True)
            antisocial += sum(number for member, number in pairs if given[member] >= own)
    return antisocial / total if total else None


def efficiency(result: Result) -> float:
    """The mean tokens per round as a share of their maximum without punishment.

    It is negative if punishment costs more than the players earn.
    """
    return fmean(map(fmean, result.outcome.gains)) / best_income(result.game)


def best_income(game: PublicGoodsPunishment) -> float:
    """Return the mean tokens of a round if all contribute what is best for the group."""
    return max(1, game.marginal_return * game.group_size) * game.tokens


def _points_limits(game: Game) -> tuple[float, float]:
    assert isinstance(game, PublicGoodsPunishment)
    return 0, MAX_POINTS * (game.group_size - 1)


def _efficiency_limits(game: Game) -> tuple[float, float]:
    assert isinstance(game, PublicGoodsPunishment)
    low, _ = game.payoff_bounds()["player"]
    return min(0, low / (game.rounds + game.punishment_rounds) / best_income(game)), 1


METRICS = (
    Metric("contribution", contribution, unit="share of the tokens", bounds=SHARE),
    Metric(
        "contribution_without_punishment",
        contribution_without_punishment,
        unit="share of the tokens",
        bounds=SHARE,
    ),
    Metric(
        "contribution_with_punishment",
        contribution_with_punishment,
        unit="share of the tokens",
        bounds=SHARE,
    ),
    Metric(
        "last_round_contribution",
        last_round_contribution,
        unit="share of the tokens",
        bounds=SHARE,
    ),
    Metric(
        "punishment_points",
        punishment_points,
        unit="points per player and round",
        limits=_points_limits,
    ),
    Metric("antisocial_punishment", antisocial_punishment, unit="share of points", bounds=SHARE),
    Metric("efficiency", efficiency, unit="share of the best", limits=_efficiency_limits),
)


def points_by_round(result: Result) -> Iterator[Point]:
    """The points that each player assigns, and the mean; None in rounds without punishment."""
    rows = enumerate(result.outcome.points)
    return by_player(
        result,
        (
            [sum(points) if number >= result.game.rounds else None for points in row]
            for number, row in rows
        ),
    )


def _gain_limits(game: PublicGoodsPunishment) -> tuple[float, float]:
    return -math.inf, game.income(0, (game.group_size - 1) * game.tokens)


SERIES = (
    Series("contribution", contribution_by_round, unit="share of the tokens"),
    Series("punishment_points", points_by_round, unit="points"),
    Series("gain", gain_by_round, unit="tokens", payoff=True, limits=_gain_limits),
)
